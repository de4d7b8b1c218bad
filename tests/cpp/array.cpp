// Compressed arrays in C++: elements by call and by view, blocks at the edges, errors.
#include <sleek_array.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <tuple>

#define CHECK(condition)                                                                  \
    do {                                                                                  \
        if (!(condition)) {                                                               \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);          \
            std::exit(1);                                                                 \
        }                                                                                 \
    } while (0)

template <class T, std::size_t D> void sweep(const std::array<uint64_t, D>& lens, std::size_t blocks) {
    sleek::array<T, D> a(lens, 24.0);
    uint64_t count = 1;
    for (uint64_t n : lens) count *= n;
    const auto place = [&](uint64_t n) {
        std::array<uint64_t, D> at{};
        for (std::size_t d = D; d-- > 0;) {
            at[d] = n % lens[d];
            n /= lens[d];
        }
        return at;
    };
    const auto value = [](uint64_t n) { return static_cast<T>(static_cast<double>(n % 97) * 3); };
    {
        auto v = a.view(blocks);
        for (uint64_t n = 0; n < count; n++)
            std::apply([&](auto... at) { v(at...) = value(n); }, place(n));
    }
    auto v = a.view(blocks);
    for (uint64_t n = 0; n < count; n++) {
        const double is = static_cast<double>(std::apply([&](auto... at) { return v.get(at...); }, place(n)));
        const double one = static_cast<double>(std::apply([&](auto... at) { return a(at...); }, place(n)));
        CHECK(std::fabs(is - static_cast<double>(value(n))) < 1.5 && is == one);
    }
}

// Two elements whose blocks take each other's place in the view.
void elements() {
    sleek::array<double, 1> a({64}, 64.0);
    auto v = a.view(1);
    v(0) = 1;
    v(40) = 2;
    using std::swap;
    swap(v(0), v(40));
    CHECK(v.get(0) == 2 && v.get(40) == 1);
    auto near = v(0);
    auto far = v(40);
    swap(near, far);
    CHECK(near == 1 && far == 2);
    CHECK(std::max<double>(v(0), v(40)) == 2 && std::max<double>(v(40), v(0)) == 2);
    const double most = std::max(v(0), v(40));
    CHECK(most == 2);
    near = far = 7;    // written after the blocks have changed places
    v(20) = v(40);
    v(0) += v(40);
    v(0) -= 1;
    v(0) *= 4;
    v(0) /= 2;
    CHECK(v(20) == 7 && near == 26 && v(40)++ == 7 && v(40)-- == 8 && ++v(40) == 8 && --v(40) == 7);
    v.flush();
    CHECK(a(0) == 26 && a(40) == 7);
}

template <class F> void fails(int32_t code, F work) {
    try {
        work();
    } catch (const sleek::error& e) {
        CHECK(e.code == code);
        return;
    }
    CHECK(!"an error");
}

// What is refused leaves a view that works, and what was written to it.
void refusals() {
    sleek::array<double, 2> a({6, 8}, 64.0);
    auto v = a.view(1);
    v(0, 0) = 3;
    for (double x : {std::numeric_limits<double>::quiet_NaN(), -std::numeric_limits<double>::infinity()})
        fails(SLEEK_E_INVALID_ARGUMENT, [&] { v(0, 1) = x; });
    fails(SLEEK_E_INVALID_ARGUMENT, [&] { v(0, 0) /= 0.0; });
    for (int64_t x : {int64_t(-1), int64_t(8), int64_t(1) << 40}) {
        fails(SLEEK_E_OUT_OF_RANGE, [&] { v(0, x) = 1; });
        fails(SLEEK_E_OUT_OF_RANGE, [&] { v.get(5, x); });
    }
    fails(SLEEK_E_OUT_OF_RANGE, [&] { v(6, 0) = 1; });
    v(5, 7) = 4;
    CHECK(v(0, 0) == 3 && v(0, 1) == 0 && v(5, 7) == 4);
    v.flush();
    CHECK(a(0, 0) == 3 && a(5, 7) == 4);
}

int main() {
    elements();
    refusals();
    sweep<float, 1>({1001}, 4);
    sweep<double, 2>({37, 42}, 1);
    sweep<double, 2>({37, 42}, std::numeric_limits<std::size_t>::max());
    sweep<float, 3>({9, 10, 11}, 8);
    sweep<double, 4>({5, 6, 3, 7}, 2);
    sleek::array<double, 2> a({8, 8}, 16.0);
    CHECK(a.bytes() == 64 * 2);
    sleek::array<double, 2> b = std::move(a);
    try {
        b(8, 0);
        CHECK(false);
    } catch (const sleek::error& e) {
        CHECK(e.code == SLEEK_E_OUT_OF_RANGE);
    }
    try {
        sleek::array<float, 3>({4, 4, 4}, -1.0);
        CHECK(false);
    } catch (const sleek::error& e) {
        CHECK(e.code == SLEEK_E_INVALID_BOUND);
    }
    std::puts("compressed arrays in C++ are fine");
}
