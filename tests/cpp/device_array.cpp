// Compressed arrays of kernels (sleek_array.cuh), whose functions run here on the CPU, against those of the library:
// the same blocks of the same numbers, read and written either way.
#include <sleek_array.cuh>
#include <sleek_array.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define CHECK(condition)                                                         \
    do {                                                                         \
        if (!(condition)) {                                                      \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            std::exit(1);                                                        \
        }                                                                        \
    } while (0)

static uint64_t state = 88172645463325252ull;
static uint64_t random_bits() {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

// Numbers that blocks have trouble with: waves, noise, one that is far larger than all others, the smallest, zeros.
template <class T> static T number(uint64_t n, unsigned kind) {
    const double wave = std::sin(0.1 * static_cast<double>(n));
    const double noise = static_cast<double>(random_bits() >> 11) / 9007199254740992.0 - 0.5;
    switch (kind) {
    case 0: return static_cast<T>(wave);
    case 1: return static_cast<T>(noise * 1e6);
    case 2: return n % 61 == 7 ? static_cast<T>(1e30) : static_cast<T>(wave);
    case 3: return static_cast<T>(std::ldexp(noise, sizeof(T) == 4 ? -124 : -1018));
    case 4: return n % 100 < 70 ? static_cast<T>(0) : static_cast<T>(-wave);
    default: return static_cast<T>(std::ldexp(noise, sizeof(T) == 4 ? 128 : 1024));
    }
}

template <class T, std::size_t D> static void compare(const std::array<uint64_t, D>& lens, double rate) {
    std::size_t count = 1;
    for (uint64_t n : lens) count *= n;
    constexpr unsigned d = static_cast<unsigned>(D);
    for (unsigned kind = 0; kind < 6; kind++) {
        sleek_params p;
        CHECK(sleek_params_init(&p) == SLEEK_OK);
        p.dtype = sizeof(T) == 4 ? SLEEK_F32 : SLEEK_F64;
        p.codec = SLEEK_CODEC_ZFP;
        p.mode = SLEEK_RATE;
        p.bound = rate;
        p.dims = lens.data();
        p.rank = static_cast<int32_t>(D);
        sleek_array* host;
        CHECK(sleek_array_create(&p, 0, &host) == SLEEK_OK);
        std::vector<T> plain(count), back(count);
        for (std::size_t n = 0; n < count; n++) plain[n] = number<T>(n, kind);
        const std::array<uint64_t, D> origin{};
        CHECK(sleek_array_write(host, origin.data(), lens.data(), plain.data(), count * sizeof(T)) == SLEEK_OK);
        const std::size_t bytes = sleek_array_bytes(host, nullptr);
        std::vector<uint32_t> words(bytes / 4), own(bytes / 4);
        CHECK(sleek_array_blocks(host, words.data(), bytes - 1, nullptr) == SLEEK_E_BUFFER_TOO_SMALL);
        CHECK(sleek_array_blocks(host, words.data(), bytes, nullptr) == SLEEK_OK);

        sleek::device_array<T, d> array{own.data(), {}, sleek::block_bytes<T, d>(rate)};
        for (std::size_t k = 0; k < D; k++) array.lens[k] = lens[k];
        CHECK(array.bytes() == bytes);
        // Encoding: an element beyond the edges may be anything.
        const auto element = [&](uint64_t block, unsigned i, bool& there) {
            uint64_t at[D], n = 0;
            array.start_of(block, at);
            there = true;
            for (std::size_t k = 0; k < D; k++) {
                at[k] += i >> (2 * (D - 1 - k)) & 3;
                there = there && at[k] < lens[k];
                n = n * lens[k] + at[k];
            }
            return n;
        };
        T v[sleek::device_array<T, d>::SIZE];
        for (uint64_t block = 0; block < array.blocks(); block++) {
            bool there;
            for (unsigned i = 0; i < array.SIZE; i++) {
                const uint64_t n = element(block, i, there);
                v[i] = there ? plain[n] : static_cast<T>(NAN);
            }
            array.store(block, v);
        }
        CHECK(own == words);
        // Decoding.
        CHECK(sleek_array_set_blocks(host, own.data(), bytes + 8, nullptr) == SLEEK_E_INVALID_ARGUMENT);
        CHECK(sleek_array_set_blocks(host, own.data(), bytes, nullptr) == SLEEK_OK);
        CHECK(sleek_array_read(host, origin.data(), lens.data(), back.data(), count * sizeof(T)) == SLEEK_OK);
        for (uint64_t block = 0; block < array.blocks(); block++) {
            array.load(block, v);
            for (unsigned i = 0; i < array.SIZE; i++) {
                bool there;
                const uint64_t n = element(block, i, there);
                CHECK(!there || std::memcmp(&v[i], &back[n], sizeof(T)) == 0);
            }
        }
        // One element, and one changed: as the library changes it.
        uint64_t at[D];
        std::array<uint64_t, D> place, one;
        for (std::size_t k = 0; k < D; k++) place[k] = at[k] = lens[k] - 1;
        one.fill(1);
        T value = array.get(at);
        CHECK(std::memcmp(&value, &back[count - 1], sizeof(T)) == 0);
        value = static_cast<T>(3);
        array.set(at, value);
        CHECK(sleek_array_write(host, place.data(), one.data(), &value, sizeof value) == SLEEK_OK);
        CHECK(sleek_array_blocks(host, words.data(), bytes, nullptr) == SLEEK_OK);
        CHECK(own == words);
        sleek_array_free(host);
    }
}

template <class T> static void shapes() {
    for (double rate : {2.0, 8.0, 16.0, 40.0, 64.0}) {
        compare<T, 1>({1003}, rate);
        compare<T, 2>({37, 42}, rate);
        compare<T, 3>({9, 10, 11}, rate);
        compare<T, 4>({5, 6, 3, 7}, rate);
    }
    compare<T, 3>({1, 2, 3}, 12.5);
    compare<T, 1>({1}, 0.1);
}

int main() {
    shapes<float>();
    shapes<double>();
    CHECK((sleek::block_bytes<float, 3>(-1.0)) == 0 && (sleek::block_bytes<double, 2>(16.0)) == 32);
    std::puts("blocks of kernels are those of the host");
    return 0;
}
