// Compresses a vector within a bound relative to its value range, and restores it; an error becomes an exception.
//
//   c++ compress.cpp -lsleek -o compress && ./compress
#include <sleek.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <vector>

static void check(int32_t code) {
    if (code != SLEEK_OK) throw std::runtime_error(sleek_last_error());
}

static std::vector<unsigned char> compress(const std::vector<double> &values, double bound) {
    sleek_params params;
    check(sleek_params_init(&params));
    params.dtype = SLEEK_F64;
    params.mode = SLEEK_NOA;
    params.bound = bound;
    std::vector<unsigned char> stream(sleek_compress_bound(&params, values.size()));
    if (stream.empty()) throw std::runtime_error(sleek_last_error());
    size_t bytes = 0;
    check(sleek_compress(&params, values.data(), values.size(), stream.data(), stream.size(), &bytes, nullptr));
    stream.resize(bytes);
    return stream;
}

static sleek_info inspect(const std::vector<unsigned char> &stream) {
    sleek_info info{};
    info.struct_size = sizeof info;
    check(sleek_inspect(stream.data(), stream.size(), &info));
    return info;
}

static std::vector<double> decompress(const std::vector<unsigned char> &stream) {
    std::vector<double> values(inspect(stream).count);
    check(sleek_decompress(stream.data(), stream.size(), values.data(), values.size() * sizeof(double), nullptr, nullptr));
    return values;
}

int main() try {
    std::vector<double> wave(200000);
    for (size_t i = 0; i < wave.size(); i++) wave[i] = 40 * std::sin(1e-3 * static_cast<double>(i));

    const std::vector<unsigned char> stream = compress(wave, 1e-4);
    const std::vector<double> back = decompress(stream);
    double worst = 0;
    for (size_t i = 0; i < wave.size(); i++) worst = std::max(worst, std::abs(wave[i] - back[i]));
    const sleek_info info = inspect(stream);
    std::printf("ratio %.2f, largest error %.3g of %.3g, which is 1e-4 of the range %.3g\n",
                static_cast<double>(info.raw_bytes) / static_cast<double>(info.stream_bytes), worst, info.abs_bound,
                info.range);
    if (!(worst <= info.abs_bound)) return EXIT_FAILURE;

    try {
        compress(wave, -1);
    } catch (const std::runtime_error &e) {
        std::printf("refused: %s\n", e.what());
        return EXIT_SUCCESS;
    }
    return EXIT_FAILURE;
} catch (const std::exception &e) {
    std::fprintf(stderr, "%s\n", e.what());
    return EXIT_FAILURE;
}
