// Compressed arrays in C++: elements by call and by view, blocks at the edges, errors.
#include <sleek_array.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>
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

int main() {
    sweep<float, 1>({1001}, 4);
    sweep<double, 2>({37, 42}, 1);
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
