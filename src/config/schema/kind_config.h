// SPDX-License-Identifier: Apache-2.0
// A kind's configuration of a resource's devices. Only the kind knows the struct; other code can
// copy and compare it. A value; any thread.
#pragma once

#include <any>
#include <utility>

namespace tessera {
struct Kind;  // backend/kind.h
}

namespace tessera::config {

class KindConfig {
 public:
  // No kind.
  KindConfig() = default;
  // `T` has a copy constructor and `==`.
  template <class T>
  static KindConfig Of(T value) {
    KindConfig config;
    config.value_ = std::move(value);
    config.equal_ = [](const std::any& a, const std::any& b) {
      return *std::any_cast<T>(&a) == *std::any_cast<T>(&b);
    };
    return config;
  }

  // Null: it is of another kind.
  template <class T>
  T* As() {
    return std::any_cast<T>(&value_);
  }
  template <class T>
  const T* As() const {
    return std::any_cast<T>(&value_);
  }

  // The kind, which outlives it; null: the configuration was not checked.
  const Kind* kind() const { return kind_; }
  void set_kind(const Kind* kind) { kind_ = kind; }

  // Equal values of two schemas are equal: kind() is ignored.
  bool operator==(const KindConfig& other) const {
    if (value_.type() != other.value_.type()) return false;
    return equal_ == nullptr || equal_(value_, other.value_);
  }

 private:
  std::any value_;
  const Kind* kind_ = nullptr;
  bool (*equal_)(const std::any&, const std::any&) = nullptr;  // compares two values of its type
};

}  // namespace tessera::config
