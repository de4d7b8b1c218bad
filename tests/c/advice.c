// Advice on a request: a bound for a target, missing values that nobody named; and what is refused.
#include "check.h"

#include <float.h>
#include <math.h>

enum { ROWS = 150, COLUMNS = 200, COUNT = ROWS * COLUMNS };

static float field[COUNT];

static size_t compressed(const sleek_params *params, unsigned char *stream, size_t room) {
    size_t bytes = 0;
    CHECK(sleek_compress(params, field, COUNT, stream, room, &bytes, NULL) == SLEEK_OK);
    return bytes;
}

static sleek_params request(void) {
    sleek_params params;
    CHECK(sleek_params_init(&params) == SLEEK_OK);
    params.dtype = SLEEK_F32;
    return params;
}

static void bounds(void) {
    static unsigned char stream[5 * COUNT];
    static float back[COUNT];
    const double ratios[] = {3, 10, 40};
    for (size_t k = 0; k < 3; k++) {
        sleek_params params = request();
        CHECK(sleek_find_bound(&params, field, COUNT, SLEEK_TARGET_RATIO, ratios[k]) == SLEEK_OK);
        double ratio = (double)sizeof field / (double)compressed(&params, stream, sizeof stream);
        CHECK(params.mode == SLEEK_ABS && ratio >= ratios[k] && ratio < 1.06 * ratios[k]);
    }
    sleek_params params = request();
    CHECK(sleek_find_bound(&params, field, COUNT, SLEEK_TARGET_SIZE, 20000) == SLEEK_OK);
    size_t bytes = compressed(&params, stream, sizeof stream);
    CHECK(bytes <= 20000 && bytes > 19000);
    CHECK(sleek_find_bound(&params, field, COUNT, SLEEK_TARGET_PSNR, 70) == SLEEK_OK);
    bytes = compressed(&params, stream, sizeof stream);
    size_t restored = 0;
    CHECK(sleek_decompress(stream, bytes, back, sizeof back, &restored, NULL) == SLEEK_OK && restored == sizeof back);
    double squares = 0, low = field[0], high = field[0];
    for (size_t i = 0; i < COUNT; i++) {
        squares += ((double)field[i] - back[i]) * ((double)field[i] - back[i]);
        low = fmin(low, field[i]), high = fmax(high, field[i]);
    }
    double psnr = 20 * log10((high - low) / sqrt(squares / COUNT));
    CHECK(psnr >= 70 && psnr < 72);
    CHECK(sleek_find_bound(&params, field, COUNT, SLEEK_TARGET_SSIM, 0.999) == SLEEK_OK && params.bound > 0);
    // Mode, bound and range do not matter.
    const int32_t modes[] = {SLEEK_PRECISION, SLEEK_NOA, 77, -1};
    for (size_t k = 0; k < 4; k++) {
        sleek_params other = params;
        other.mode = modes[k], other.bound = -7.5, other.range = NAN;
        CHECK(sleek_find_bound(&other, field, COUNT, SLEEK_TARGET_SSIM, 0.999) == SLEEK_OK);
        CHECK(memcmp(&other, &params, sizeof params) == 0);
    }
}

static void refusals(void) {
    sleek_params params = request(), before = params;
    CHECK(sleek_find_bound(&params, field, COUNT, SLEEK_TARGET_RATIO, 1e9) == SLEEK_E_INVALID_ARGUMENT);
    CHECK(strstr(sleek_last_error(), "ratio=1e9: cannot be met") && strstr(sleek_last_error(), "the nearest"));
    const double wrong[] = {0, -1, NAN, INFINITY};
    for (int32_t target = -1; target < 8; target++) {
        for (size_t k = 0; k < 4; k++) {
            CHECK(sleek_find_bound(&params, field, COUNT, target, wrong[k]) == SLEEK_E_INVALID_ARGUMENT);
        }
    }
    CHECK(sleek_find_bound(&params, NULL, COUNT, SLEEK_TARGET_RATIO, 2) == SLEEK_E_NULL_POINTER);
    CHECK(sleek_find_bound(&params, field, SIZE_MAX, SLEEK_TARGET_RATIO, 2) == SLEEK_E_INVALID_ARGUMENT);
    CHECK(sleek_find_bound(NULL, field, COUNT, SLEEK_TARGET_RATIO, 2) == SLEEK_E_NULL_POINTER);
    params.dtype = SLEEK_I32;
    CHECK(sleek_find_bound(&params, field, COUNT, SLEEK_TARGET_RATIO, 2) == SLEEK_E_UNSUPPORTED_TYPE);
    params.dtype = before.dtype;
    CHECK(memcmp(&params, &before, sizeof params) == 0);
}

// What was found stands in the stream.
static void marks(void) {
    static unsigned char stream[5 * COUNT];
    sleek_params params = request();
    params.mode = SLEEK_ABS, params.bound = 1e-3, params.find_fill = 1;
    sleek_info info = {.struct_size = sizeof info};
    size_t bytes = compressed(&params, stream, sizeof stream);
    CHECK(sleek_inspect(stream, bytes, &info) == SLEEK_OK && info.missing_found == 0);
    float kept[2] = {field[77], field[COUNT - 1]}, mark = -9999;
    field[77] = field[COUNT - 1] = mark;
    bytes = compressed(&params, stream, sizeof stream);
    CHECK(sleek_inspect(stream, bytes, &info) == SLEEK_OK && info.missing_found == 1 && info.missing_count == 1);
    CHECK(memcmp(&info.missing[0], &mark, sizeof mark) == 0);
    params.fill_value = mark, params.has_fill_value = 1;
    bytes = compressed(&params, stream, sizeof stream);
    CHECK(sleek_inspect(stream, bytes, &info) == SLEEK_OK && info.missing_found == 0 && info.missing_count == 1);
    field[77] = kept[0], field[COUNT - 1] = kept[1];
}

int main(void) {
    for (size_t i = 0; i < COUNT; i++) {
        double x = (double)(i % COLUMNS), y = (double)(i / COLUMNS);
        field[i] = (float)(20 + 3 * sin(x / 17) * cos(y / 11) + 1e-3 * sin((double)(i * i % 1009)));
    }
    bounds();
    refusals();
    marks();
    puts("advice is fine");
    return 0;
}
