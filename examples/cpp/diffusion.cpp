// Heat that spreads from a point, on a grid whose state is kept in compressed arrays: what becomes of the result, of the
// memory and of the time, beside arrays of double and float.
//
//     diffusion [side of the grid] [steps]
#include <sleek_array.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

// A grid of numbers of the program's own.
template <class T> class plain {
public:
    explicit plain(std::size_t side, double) : side_(side), elements_(side * side) {}
    double get(std::size_t y, std::size_t x) const { return static_cast<double>(elements_[y * side_ + x]); }
    void set(std::size_t y, std::size_t x, double v) { elements_[y * side_ + x] = static_cast<T>(v); }
    void flush() {}
    std::size_t bytes() const { return elements_.size() * sizeof(T); }

private:
    std::size_t side_;
    std::vector<T> elements_;
};

// A grid that is kept compressed. Its view has room for two rows of blocks, which a sweep needs.
template <class T> class compressed {
public:
    explicit compressed(std::size_t side, double rate) : array_({side, side}, rate, 1), view_(array_.view(side / 2)) {}
    double get(std::size_t y, std::size_t x) { return static_cast<double>(view_.get(y, x)); }
    void set(std::size_t y, std::size_t x, double v) { view_(y, x) = static_cast<T>(v); }
    void flush() { view_.flush(); }
    std::size_t bytes() const { return array_.bytes(); }

private:
    sleek::array<T, 2> array_;
    sleek::view<T, 2> view_;
};

struct result {
    std::vector<double> state;
    double seconds;
    std::size_t bytes;
};

// u += k · Laplacian(u), with u = 0 at the edges. Only the rows around the one that changes are kept as they were.
template <class Grid> result run(std::size_t side, int steps, double rate) {
    const auto begin = std::chrono::steady_clock::now();
    Grid u(side, rate);
    const double k = 0.2;
    u.set(side / 2, side / 2, 1e6);
    std::vector<double> above(side), here(side), below(side);
    for (int step = 0; step < steps; step++) {
        for (std::size_t x = 0; x < side; x++) {
            above[x] = u.get(0, x);
            here[x] = u.get(1, x);
        }
        for (std::size_t y = 1; y + 1 < side; y++) {
            for (std::size_t x = 0; x < side; x++) below[x] = u.get(y + 1, x);
            for (std::size_t x = 1; x + 1 < side; x++)
                u.set(y, x, here[x] + k * (above[x] + below[x] + here[x - 1] + here[x + 1] - 4 * here[x]));
            above.swap(here);
            here.swap(below);
        }
    }
    u.flush();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    result r{std::vector<double>(side * side), took.count(), u.bytes()};
    for (std::size_t y = 0; y < side; y++)
        for (std::size_t x = 0; x < side; x++) r.state[y * side + x] = u.get(y, x);
    return r;
}

void report(const char* name, const result& r, const result& exact) {
    double largest = 0, square = 0, top = 0;
    for (std::size_t i = 0; i < r.state.size(); i++) {
        const double error = std::fabs(r.state[i] - exact.state[i]);
        largest = std::max(largest, error);
        square += error * error;
        top = std::max(top, std::fabs(exact.state[i]));
    }
    std::printf("| %-18s | %8.1f | %9.2e | %9.2e | %6.2f |\n", name, static_cast<double>(r.bytes) / 1024, largest / top,
                std::sqrt(square / static_cast<double>(r.state.size())) / top, r.seconds / exact.seconds);
}

}    // namespace

int main(int argc, char** argv) {
    const std::size_t side = argc > 1 ? static_cast<std::size_t>(std::atol(argv[1])) : 64;
    const int steps = argc > 2 ? std::atoi(argv[2]) : 100;
    if (side < 8 || steps < 1) {
        std::fprintf(stderr, "usage: diffusion [side of the grid, from 8 on] [steps]\n");
        return 2;
    }
    try {
        const result exact = run<plain<double>>(side, steps, 0);
        std::printf("%zu x %zu, %d steps; errors as parts of the largest value\n\n", side, side, steps);
        std::printf("| state              |      KiB |   largest |       rms |   time |\n|---|---|---|---|---|\n");
        report("double", exact, exact);
        report("float", run<plain<float>>(side, steps, 0), exact);
        for (int rate : {32, 24, 16, 12, 8}) {
            char name[32];
            std::snprintf(name, sizeof name, "double at %d bits", rate);
            report(name, run<compressed<double>>(side, steps, rate), exact);
        }
    } catch (const sleek::error& e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
    return 0;
}
