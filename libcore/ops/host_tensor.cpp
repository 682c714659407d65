#include "ops/host_tensor.h"

#include <cmath>
#include <complex>
#include <cstring>

#include "ir/float_format.h"

namespace penstock::ops {

namespace {

template <class T>
T load(const HostTensor& tensor, std::int64_t place) {
  T value;
  std::memcpy(&value, tensor.memory->data() + place * static_cast<std::int64_t>(sizeof(T)),
              sizeof(T));
  return value;
}

template <class T>
void store(HostTensor& tensor, std::int64_t place, T value) {
  std::memcpy(tensor.memory->data() + place * static_cast<std::int64_t>(sizeof(T)), &value,
              sizeof(T));
}

/// What a cast of a floating value to an integer gives on this machine where C++ leaves it open.
std::int64_t truncate(double value) {
  return value >= -9.3e18 && value < 9.2233720368547e18 ? static_cast<std::int64_t>(value)
                                                        : INT64_MIN;
}

}  // namespace

HostTensor HostTensor::allocate(const TensorType& type) {
  HostTensor tensor;
  tensor.dtype = type.dtype;
  std::int64_t last = 0;
  bool empty = false;
  for (std::size_t i = 0; i < type.rank(); ++i) {
    tensor.sizes.push_back(type.sizes[i].constant().value_or(0));
    tensor.strides.push_back(type.strides[i].constant().value_or(0));
    empty = empty || tensor.sizes.back() == 0;
    last += (tensor.sizes.back() - 1) * tensor.strides.back();
  }
  auto bytes = static_cast<std::size_t>(empty ? 0 : (last + 1) * facts(type.dtype).size);
  tensor.memory = std::make_shared<std::vector<std::byte>>(bytes);
  return tensor;
}

HostTensor HostTensor::contiguous(DType dtype, std::vector<std::int64_t> sizes) {
  TensorType type;
  type.dtype = dtype;
  for (std::int64_t size : sizes) type.sizes.emplace_back(size);
  type.strides = contiguous_strides(type.sizes);
  return allocate(type);
}

HostTensor HostTensor::scalar(DType dtype, double value) {
  HostTensor tensor = contiguous(dtype, {});
  tensor.set_real(0, value);
  return tensor;
}

std::int64_t HostTensor::count() const {
  std::int64_t count = 1;
  for (std::int64_t size : sizes) count *= size;
  return count;
}

TensorType HostTensor::type() const {
  TensorType type;
  type.dtype = dtype;
  for (std::int64_t size : sizes) type.sizes.emplace_back(size);
  for (std::int64_t stride : strides) type.strides.emplace_back(stride);
  type.storage_offset = offset;
  return type;
}

double HostTensor::real_at(std::int64_t place) const {
  switch (dtype) {
    case DType::float32:
      return load<float>(*this, place);
    case DType::float64:
      return load<double>(*this, place);
    case DType::complex64:
      return load<std::complex<float>>(*this, place).real();
    case DType::complex128:
      return load<std::complex<double>>(*this, place).real();
    case DType::float16:
      return from_float16(load<std::uint16_t>(*this, place));
    case DType::bfloat16:
      return from_bfloat16(load<std::uint16_t>(*this, place));
    default:
      return static_cast<double>(integer_at(place));
  }
}

std::int64_t HostTensor::integer_at(std::int64_t place) const {
  switch (dtype) {
    case DType::bool_:
      return load<std::uint8_t>(*this, place) != 0;
    case DType::uint8:
      return load<std::uint8_t>(*this, place);
    case DType::int8:
      return load<std::int8_t>(*this, place);
    case DType::int16:
      return load<std::int16_t>(*this, place);
    case DType::int32:
      return load<std::int32_t>(*this, place);
    case DType::int64:
      return load<std::int64_t>(*this, place);
    default:
      return truncate(real_at(place));
  }
}

void HostTensor::set_real(std::int64_t place, double value) {
  switch (dtype) {
    case DType::float32:
      return store(*this, place, static_cast<float>(value));
    case DType::float64:
      return store(*this, place, value);
    case DType::complex64:
      return store(*this, place, std::complex<float>(static_cast<float>(value)));
    case DType::complex128:
      return store(*this, place, std::complex<double>(value));
    case DType::float16:
      return store(*this, place, to_float16(value));
    case DType::bfloat16:
      return store(*this, place, to_bfloat16(value));
    case DType::bool_:
      return store<std::uint8_t>(*this, place, value != 0);
    default:
      return set_integer(place, truncate(value));
  }
}

void HostTensor::set_integer(std::int64_t place, std::int64_t value) {
  switch (dtype) {
    case DType::bool_:
      return store<std::uint8_t>(*this, place, value != 0);
    case DType::uint8:
      return store(*this, place, static_cast<std::uint8_t>(value));
    case DType::int8:
      return store(*this, place, static_cast<std::int8_t>(value));
    case DType::int16:
      return store(*this, place, static_cast<std::int16_t>(value));
    case DType::int32:
      return store(*this, place, static_cast<std::int32_t>(value));
    case DType::int64:
      return store(*this, place, value);
    case DType::float32:
      return store(*this, place, static_cast<float>(value));
    default:
      return set_real(place, static_cast<double>(value));
  }
}

std::vector<std::int64_t> HostTensor::places() const {
  std::vector<std::int64_t> places = {offset};
  if (count() == 0) return {};
  // Each dim multiplies the list: row-major order comes from the outer dims being expanded first.
  for (std::size_t dim = 0; dim < sizes.size(); ++dim) {
    std::vector<std::int64_t> next;
    next.reserve(places.size() * static_cast<std::size_t>(sizes[dim]));
    for (std::int64_t place : places) {
      for (std::int64_t i = 0; i < sizes[dim]; ++i) next.push_back(place + i * strides[dim]);
    }
    places = std::move(next);
  }
  return places;
}

std::vector<double> HostTensor::reals() const {
  std::vector<double> values;
  for (std::int64_t place : places()) {
    values.push_back(real_at(place));
    if (dtype == DType::complex64) values.push_back(load<std::complex<float>>(*this, place).imag());
    if (dtype == DType::complex128)
      values.push_back(load<std::complex<double>>(*this, place).imag());
  }
  return values;
}

std::vector<std::int64_t> HostTensor::integers() const {
  std::vector<std::int64_t> values;
  for (std::int64_t place : places()) values.push_back(integer_at(place));
  return values;
}

void HostTensor::assign(const std::vector<double>& values) {
  std::size_t next = 0;
  for (std::int64_t place : places()) {
    const double value = values[next++];
    if (dtype == DType::complex128) {
      store(*this, place, std::complex(value, values[next++]));
    } else if (dtype == DType::complex64) {
      store(*this, place,
            std::complex(static_cast<float>(value), static_cast<float>(values[next++])));
    } else {
      set_real(place, value);
    }
  }
}

void HostTensor::assign(const std::vector<std::int64_t>& values) {
  std::size_t next = 0;
  for (std::int64_t place : places()) set_integer(place, values[next++]);
}

}  // namespace penstock::ops
