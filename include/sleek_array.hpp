// Compressed arrays in C++17: sleek.h's sleek_array_... with an operator for elements.
//
//     sleek::array<double, 3> u({nz, ny, nx}, 16.0);    // 16 bits a value
//     auto v = u.view();
//     v(k, j, i) = 0.5;                                  // dimensions slowest first
//     double sum = v(k, j, i) + v(k, j, i - 1);
//     v.flush();
//
// v(k, j, i) is a sleek::reference: an object that stands for the element. It is read and written when it is used. So
// `auto x = v(0, 0, 0)` follows the element; `double x = v(0, 0, 0)` takes its value now.
//
// An array may be used by any number of threads. A view keeps decoded blocks of its own and belongs to one thread. What
// another thread writes it sees in blocks that it does not hold, and after clear(). Errors are thrown as sleek::error.
#ifndef SLEEK_ARRAY_HPP
#define SLEEK_ARRAY_HPP

#include <sleek.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace sleek {

// What the library refused, in its own words.
struct error : std::runtime_error {
    explicit error(int32_t status) : std::runtime_error(sleek_last_error()), code(status) {}
    error(int32_t status, const std::string& text) : std::runtime_error(text), code(status) {}
    int32_t code;
};

namespace detail {
inline void check(int32_t code) {
    if (code != SLEEK_OK) throw error(code);
}
template <class T> struct element;
template <> struct element<float> { static constexpr int32_t code = SLEEK_F32; };
template <> struct element<double> { static constexpr int32_t code = SLEEK_F64; };
template <> struct element<int32_t> { static constexpr int32_t code = SLEEK_I32; };
template <> struct element<int64_t> { static constexpr int32_t code = SLEEK_I64; };
// By its bits: compilers that are told of finite numbers alone take a comparison for true.
template <class T> bool is_finite(T) { return true; }
inline bool is_finite(float x) {
    uint32_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    return (bits & 0x7f800000u) != 0x7f800000u;
}
inline bool is_finite(double x) {
    uint64_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    return (bits & 0x7ff0000000000000u) != 0x7ff0000000000000u;
}
}    // namespace detail

template <class T, std::size_t D> class view;
template <class T, std::size_t D> class reference;

// An array of D dimensions, 1 to 4, each block of 4^D elements compressed to the same size.
template <class T, std::size_t D> class array {
public:
    static_assert(D >= 1 && D <= 4, "1 to 4 dimensions");
    using index = std::array<uint64_t, D>;

    // Zeros; `rate` bits for each value, and `cache_bytes` of decoded blocks, 0 for the library's choice.
    array(const index& lens, double rate, std::size_t cache_bytes = 0) : lens_(lens) {
        sleek_params params;
        detail::check(sleek_params_init(&params));
        params.dtype = detail::element<T>::code;
        params.codec = SLEEK_CODEC_ZFP;
        params.mode = SLEEK_RATE;
        params.bound = rate;
        params.dims = lens_.data();
        params.rank = static_cast<int32_t>(D);
        detail::check(sleek_array_create(&params, cache_bytes, &handle_));
    }
    array(const array&) = delete;
    array& operator=(const array&) = delete;
    array(array&& other) noexcept : lens_(other.lens_), handle_(std::exchange(other.handle_, nullptr)) {}
    array& operator=(array&& other) noexcept {
        std::swap(lens_, other.lens_);
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~array() { sleek_array_free(handle_); }

    const index& lens() const { return lens_; }
    // Of the compressed blocks.
    std::size_t bytes() const { return sleek_array_bytes(handle_, nullptr); }

    // The box of `count` elements from `start` on, without gaps, its last dimension fastest.
    void read(const index& start, const index& count, T* to) const {
        detail::check(sleek_array_read(handle_, start.data(), count.data(), to, bytes_of(count)));
    }
    void write(const index& start, const index& count, const T* from) {
        detail::check(sleek_array_write(handle_, start.data(), count.data(), from, bytes_of(count)));
    }
    void flush() { detail::check(sleek_array_flush(handle_)); }

    // One element, by a call of the library; a view is faster.
    template <class... I> T operator()(I... at) const {
        static_assert(sizeof...(I) == D, "an index for each dimension");
        index one;
        one.fill(1);
        T value;
        read({static_cast<uint64_t>(at)...}, one, &value);
        return value;
    }

    // Elements by reference, for one thread; `blocks` decoded ones are kept, a power of two, and
    // no more than the array has.
    sleek::view<T, D> view(std::size_t blocks = 256) { return sleek::view<T, D>(*this, blocks); }

private:
    static std::size_t bytes_of(const index& count) {
        std::size_t bytes = sizeof(T);
        for (uint64_t n : count) bytes *= static_cast<std::size_t>(n);
        return bytes;
    }
    index lens_;
    sleek_array* handle_ = nullptr;
};

// Decoded blocks of an array, which it must not outlive nor see moved; what was written goes there when a block is needed
// no more, and by flush().
//
// Indices must lie inside the array. Without NDEBUG one that does not is an error with code SLEEK_E_OUT_OF_RANGE; with
// NDEBUG nobody looks, and another element may be meant.
template <class T, std::size_t D> class view {
public:
    using index = typename array<T, D>::index;
    static constexpr std::size_t SIZE = std::size_t(1) << (2 * D);

    view(array<T, D>& of, std::size_t blocks) : array_(&of) {
        std::size_t lines = 1;
        uint64_t all = 1;
        for (std::size_t d = 0; d < D; d++) all *= along_[d] = (of.lens()[d] + 3) / 4;
        while (lines < blocks && lines < all) lines *= 2;
        lines_.resize(lines);
        elements_.resize(lines * SIZE);
    }
    view(const view&) = delete;
    view& operator=(const view&) = delete;
    view(view&&) = default;
    // What cannot be written is lost here: call flush() to know.
    ~view() {
        try {
            flush();
        } catch (const error&) {
        }
    }

    // An element to be read or written.
    template <class... I> reference<T, D> operator()(I... at) { return reference<T, D>(*this, checked(at...)); }
    template <class... I> T get(I... at) { return value(checked(at...)); }
    // Writes to the array what was written here.
    void flush() {
        for (std::size_t line = 0; line < lines_.size(); line++) put_back(line);
    }
    // Forgets all blocks, so that they are read again.
    void clear() {
        flush();
        for (line_of& line : lines_) line.block = NONE;
    }

private:
    friend class reference<T, D>;
    static constexpr uint64_t NONE = ~uint64_t(0);
    struct line_of {
        uint64_t block = NONE;
        bool changed = false;
        index start{}, count{};
    };

    template <class... I> index checked(I... at) const {
        static_assert(sizeof...(I) == D, "an index for each dimension");
        const index place = {static_cast<uint64_t>(at)...};
#ifndef NDEBUG
        for (std::size_t d = 0; d < D; d++) {
            if (place[d] < array_->lens()[d]) continue;
            throw error(SLEEK_E_OUT_OF_RANGE, "index " + std::to_string(place[d]) + " of dimension " + std::to_string(d) +
                                                  "; it has " + std::to_string(array_->lens()[d]) + " elements");
        }
#endif
        return place;
    }
    T value(const index& at) { return elements_[find(at) * SIZE + inside(at)]; }
    // Refused at once, an infinity or NaN does not keep its block from being put back.
    void set(const index& at, T value) {
        if (!detail::is_finite(value))
            throw error(SLEEK_E_INVALID_ARGUMENT, "a value is not finite; a compressed array has finite numbers alone");
        const std::size_t line = find(at);
        elements_[line * SIZE + inside(at)] = value;
        lines_[line].changed = true;
    }
    static std::size_t inside(const index& at) {
        std::size_t n = 0;
        for (std::size_t d = 0; d < D; d++) n = n * 4 + (at[d] & 3);
        return n;
    }
    std::size_t find(const index& at) {
        uint64_t block = 0;
        for (std::size_t d = 0; d < D; d++) block = block * along_[d] + at[d] / 4;
        const std::size_t line = static_cast<std::size_t>(block) & (lines_.size() - 1);
        if (lines_[line].block != block) load(line, block, at);
        return line;
    }
    void load(std::size_t line, uint64_t block, const index& at) {
        put_back(line);
        line_of& l = lines_[line];
        l.block = NONE;
        for (std::size_t d = 0; d < D; d++) {
            l.start[d] = at[d] & ~uint64_t(3);
            l.count[d] = l.start[d] + 4 <= array_->lens()[d] ? 4 : array_->lens()[d] - l.start[d];
        }
        std::array<T, SIZE> packed;
        array_->read(l.start, l.count, packed.data());
        spread(l, packed.data(), &elements_[line * SIZE], [](T& dense, T& own) { own = dense; });
        l.block = block;
    }
    void put_back(std::size_t line) {
        line_of& l = lines_[line];
        if (!l.changed || l.block == NONE) return;
        std::array<T, SIZE> packed;
        spread(l, packed.data(), &elements_[line * SIZE], [](T& dense, T& own) { dense = own; });
        array_->write(l.start, l.count, packed.data());
        l.changed = false;
    }
    // Pairs the elements of a block without gaps with those of a whole one.
    template <class Move> static void spread(const line_of& l, T* dense, T* own, Move move) {
        for (std::size_t n = 0; n < SIZE; n++) {
            bool there = true;
            for (std::size_t d = 0; d < D; d++) there = there && (n >> (2 * (D - 1 - d)) & 3) < l.count[d];
            if (there) move(*dense++, own[n]);
        }
    }

    array<T, D>* array_;
    index along_{};
    std::vector<line_of> lines_;
    std::vector<T> elements_;
};

// An element of a view, which it must not outlive. It has the element's place, not its address: the block may leave the
// view and come back. What is assigned must be finite; else an error with code SLEEK_E_INVALID_ARGUMENT is thrown and
// the element stays as it was. It is not copied, since a copy would stand for the same element.
template <class T, std::size_t D> class reference {
public:
    reference(const reference&) = delete;
    operator T() const { return view_->value(at_); }
    const reference& operator=(T value) const {
        view_->set(at_, value);
        return *this;
    }
    // The value of another element.
    const reference& operator=(const reference& other) const { return *this = static_cast<T>(other); }
    const reference& operator+=(T x) const { return *this = static_cast<T>(static_cast<T>(*this) + x); }
    const reference& operator-=(T x) const { return *this = static_cast<T>(static_cast<T>(*this) - x); }
    const reference& operator*=(T x) const { return *this = static_cast<T>(static_cast<T>(*this) * x); }
    const reference& operator/=(T x) const { return *this = static_cast<T>(static_cast<T>(*this) / x); }
    const reference& operator++() const { return *this += T(1); }
    const reference& operator--() const { return *this -= T(1); }
    T operator++(int) const {
        const T before = *this;
        *this = static_cast<T>(before + T(1));
        return before;
    }
    T operator--(int) const {
        const T before = *this;
        *this = static_cast<T>(before - T(1));
        return before;
    }
    // Swaps the values.
    friend void swap(const reference& a, const reference& b) {
        const T value = a;
        a = b;
        b = value;
    }

private:
    friend class view<T, D>;
    using index = typename array<T, D>::index;
    reference(view<T, D>& of, const index& at) : view_(&of), at_(at) {}

    view<T, D>* view_;
    index at_;
};

}    // namespace sleek

#endif
