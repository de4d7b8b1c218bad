// SLEEK as an operator of ADIOS2, 2.9 or newer: libsleek_adios2.so, which ADIOS2 loads as a plugin (docs/guide/archives.md).
// The parameters of the operator are a request in words, such as abs=1e-3, for sleek_params_parse(). Behind ADIOS2's own
// header stand the bytes of the data, a number of 8 bytes in little-endian order, and a stream of
// docs/reference/format.md. Data may lie in host or in GPU memory.
#include <sleek.h>

#if __has_include(<adios2/plugin/PluginOperatorInterface.h>)
#include <adios2/plugin/PluginOperatorInterface.h>    // ADIOS2 2.12: all that is needed
#else
#include <adios2/operator/plugin/PluginOperatorInterface.h>    // before: derived from ADIOS2's own operators
#endif

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <vector>

namespace {
using adios2::DataType;
using adios2::Dims;
using Lengths = std::vector<std::uint64_t>;

// ADIOS2 shows the text of an exception to whoever called it.
void check(std::int32_t code) {
    if (code != SLEEK_OK) throw std::runtime_error(std::string("SLEEK: ") + sleek_last_error());
}

// The same to standard error: after an exception ADIOS2's Stream in Python closes its engine, which ends the process before anyone
// has seen the text.
void say(const char* text) { std::fprintf(stderr, "sleek: error: %s\n", text); }

// How sleek.h takes an element of ADIOS2: so many numbers of a type.
struct Element {
    std::int32_t dtype;
    std::uint64_t numbers;
};

// dtype 0 for what has no numbers.
Element element_of(DataType type) {
    switch (type) {
        case DataType::Float: return {SLEEK_F32, 1};
        case DataType::Double: return {SLEEK_F64, 1};
        case DataType::FloatComplex: return {SLEEK_F32, 2};
        case DataType::DoubleComplex: return {SLEEK_F64, 2};
        case DataType::Int8: return {SLEEK_I8, 1};
        case DataType::Int16: return {SLEEK_I16, 1};
        case DataType::Int32: return {SLEEK_I32, 1};
        case DataType::Int64: return {SLEEK_I64, 1};
        case DataType::UInt8:
        case DataType::Char: return {SLEEK_U8, 1};
        case DataType::UInt16: return {SLEEK_U16, 1};
        case DataType::UInt32: return {SLEEK_U32, 1};
        case DataType::UInt64: return {SLEEK_U64, 1};
        default: return {0, 0};
    }
}

// ADIOS2 does not tell how large the place for restored data is: only what was written of it can be relied on.
constexpr size_t length_bytes = 8;

void put_length(std::uint64_t length, char* out) {
    for (size_t i = 0; i < length_bytes; ++i) out[i] = static_cast<char>(length >> (8 * i));
}

std::uint64_t length_at(const char* in) {
    std::uint64_t length = 0;
    for (size_t i = 0; i < length_bytes; ++i) length |= std::uint64_t{static_cast<unsigned char>(in[i])} << (8 * i);
    return length;
}

bool is_float(const Element& e) { return e.dtype == SLEEK_F32 || e.dtype == SLEEK_F64; }

class Sleek : public adios2::plugin::PluginOperatorInterface {
public:
    // ADIOS2 lets no exception out while an operator is made: what is wrong with the request is said here, and thrown when there is data.
    explicit Sleek(const adios2::Params& parameters) : PluginOperatorInterface(parameters), request(words(parameters)) {
        std::string why;
        // A reader makes operators too, without a request. What suits one type of floats may not suit the other.
        if (!request.empty() && !suits(SLEEK_F32, why) && !suits(SLEEK_F64, why)) say(why.c_str());
    }

    size_t GetEstimatedSize(const size_t count, const size_t bytes, const size_t rank, const size_t* dims) const override {
        // The type is not told: the most that any of this size takes.
        size_t most = 0;
        for (DataType type : {DataType::Float, DataType::Double, DataType::FloatComplex, DataType::DoubleComplex, DataType::Int8,
                              DataType::Int16, DataType::Int32, DataType::Int64}) {
            if (adios2_size(type) == bytes) most = std::max(most, room(element_of(type), count, Dims(dims, dims + rank)));
        }
        return length_bytes + most;
    }

    size_t Operate(const char* in, const Dims&, const Dims& count, const DataType type, char* out) override {
        const Element element = element_of(type);
        if (!element.dtype) throw std::runtime_error("SLEEK: elements of this type of ADIOS2 are not numbers");
        size_t elements = 1, written = 0;
        for (size_t length : count) elements *= length;
        Lengths lengths;
        const sleek_params params = params_for(element, count, lengths);
        const size_t capacity = room(element, elements, count);
        check(sleek_compress(&params, in, elements * element.numbers, out + length_bytes, capacity, &written, nullptr));
        put_length(static_cast<std::uint64_t>(elements) * adios2_size(type), out);
        return length_bytes + written;
    }

    size_t InverseOperate(const char* in, const size_t bytes, char* out) override {
        if (bytes < length_bytes) throw std::runtime_error("SLEEK: the data end before their length");
        const std::uint64_t length = length_at(in);
        const char* const stream = in + length_bytes;
        sleek_info info = {};
        info.struct_size = sizeof info;
        check(sleek_inspect(stream, bytes - length_bytes, &info));
        if (info.raw_bytes != length) {
            throw std::runtime_error("SLEEK: damaged: the stream has " + std::to_string(info.raw_bytes) + " bytes of data, and " +
                                     std::to_string(length) + " were written");
        }
        size_t written = 0;
        check(sleek_decompress(stream, info.stream_bytes, out, length, &written, nullptr));
        return written;
    }

    bool IsDataTypeValid(const DataType type) const override { return element_of(type).dtype != 0; }

private:
    const std::string request;

    // The parameters of the operator as a request in words; ADIOS2 writes their names in lower case.
    static std::string words(const adios2::Params& parameters) {
        std::string text;
        for (const auto& [name, value] : parameters) {
            const auto is = [&name](const char* other) { return name == other; };
            if (is("pluginname") || is("pluginlibrary") || is("PluginName") || is("PluginLibrary") || is("verbose")) continue;
            const bool is_flag = is("lossless") && (value == "true" || value == "1" || value == "yes" || value.empty());
            text += (text.empty() ? "" : ",") + name + (is_flag ? "" : "=" + value);
        }
        return text;
    }

    // Whether the library takes the request for this type, and why not.
    bool suits(std::int32_t dtype, std::string& why) const {
        try {
            return room({dtype, 1}, 1, {1}) > 0;
        } catch (const std::exception& e) {
            why = e.what();
            return false;
        }
    }

    sleek_params params_for(const Element& element) const {
        sleek_params params;
        check(sleek_params_init(&params));
        params.dtype = element.dtype;
        // An operator that was made by a reader has no request.
        if (request.empty()) {
            const char* text = "SLEEK: no request; give the operator a parameter: abs=1e-3, noa=1e-4, rel=1e-2, lossless=true";
            say(text);
            throw std::runtime_error(text);
        }
        if (request.find('\0') != std::string::npos) throw std::runtime_error("SLEEK: a parameter has a NUL character");
        check(sleek_params_parse(&params, request.c_str()));
        // A program that writes through ADIOS2 declares no fill value; "no-fill" in the request leaves the search out.
        if (params.find_fill == 0) params.find_fill = 1;
        const bool bounds = params.mode == SLEEK_ABS || params.mode == SLEEK_NOA || params.mode == SLEEK_REL;
        if (!is_float(element) && bounds) {    // every bit keeps any bound
            params.mode = SLEEK_LOSSLESS;
            params.codec = SLEEK_CODEC_DEFAULT;
            params.bound = params.range = 0;
            params.has_fill_value = params.missing_count = 0;
        }
        return params;
    }

    // With the lengths of the dimensions, which the caller keeps; those of complex numbers are two numbers deep.
    sleek_params params_for(const Element& element, const Dims& count, Lengths& lengths) const {
        sleek_params params = params_for(element);
        lengths.assign(count.begin(), count.end());
        if (element.numbers > 1) lengths.push_back(element.numbers);
        if (lengths.size() > 1 && lengths.size() <= 32) {
            params.dims = lengths.data();
            params.rank = static_cast<std::int32_t>(lengths.size());
        }
        return params;
    }

    size_t room(const Element& element, size_t elements, const Dims& count) const {
        Lengths lengths;
        const sleek_params params = params_for(element, count, lengths);
        const size_t bytes = sleek_compress_bound(&params, elements * element.numbers);
        if (bytes == 0) throw std::runtime_error(std::string("SLEEK: ") + sleek_last_error());
        return bytes;
    }

    static size_t adios2_size(DataType type) {
        const Element e = element_of(type);
        switch (e.dtype) {
            case SLEEK_F32:
            case SLEEK_I32:
            case SLEEK_U32: return 4 * e.numbers;
            case SLEEK_F64:
            case SLEEK_I64:
            case SLEEK_U64: return 8 * e.numbers;
            case SLEEK_I16:
            case SLEEK_U16: return 2;
            default: return 1;
        }
    }
};
}

extern "C" {
__attribute__((visibility("default"))) adios2::plugin::PluginOperatorInterface* OperatorCreate(const adios2::Params& parameters) {
    return new Sleek(parameters);
}
__attribute__((visibility("default"))) void OperatorDestroy(adios2::plugin::PluginOperatorInterface* object) { delete object; }
}
