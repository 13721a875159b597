// SPDX-License-Identifier: Apache-2.0
// A list of devices that shares them with other lists: copying a list copies references. It reads
// like a std::vector<Device> whose elements never change. Several threads may read one list; one
// thread at a time may change it, while no other reads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "device/device.h"

namespace tessera {

using DevicePtr = std::shared_ptr<const Device>;

class DeviceList {
 public:
  class Iterator {
   public:
    using iterator_category = std::random_access_iterator_tag;
    using value_type = Device;
    using difference_type = std::ptrdiff_t;
    using pointer = const Device*;
    using reference = const Device&;

    Iterator() = default;
    explicit Iterator(const DevicePtr* at) : at_(at) {}
    reference operator*() const { return **at_; }
    pointer operator->() const { return at_->get(); }
    reference operator[](difference_type n) const { return *at_[n]; }
    Iterator& operator++() { return *this += 1; }
    Iterator& operator--() { return *this += -1; }
    Iterator operator++(int) { return Iterator(at_++); }
    Iterator operator--(int) { return Iterator(at_--); }
    Iterator& operator+=(difference_type n) {
      at_ += n;
      return *this;
    }
    Iterator& operator-=(difference_type n) { return *this += -n; }
    friend Iterator operator+(Iterator i, difference_type n) { return i += n; }
    friend Iterator operator-(Iterator i, difference_type n) { return i -= n; }
    friend difference_type operator-(Iterator a, Iterator b) { return a.at_ - b.at_; }
    auto operator<=>(const Iterator&) const = default;

   private:
    const DevicePtr* at_ = nullptr;
  };

  DeviceList() = default;
  DeviceList(std::initializer_list<Device> devices) {
    for (const Device& device : devices) push_back(device);
  }

  size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  const Device& operator[](size_t i) const { return *items_[i]; }
  const Device& back() const { return *items_.back(); }
  Iterator begin() const { return Iterator(items_.data()); }
  Iterator end() const { return Iterator(items_.data() + items_.size()); }
  // The reference, to put the device into another list.
  const DevicePtr& Shared(size_t i) const { return items_[i]; }

  // Puts the devices into DeviceKeyLess order; of several with one key, the first stays.
  void SortUnique() {
    std::stable_sort(items_.begin(), items_.end(), [](const DevicePtr& a, const DevicePtr& b) {
      return DeviceKeyLess()(a->key, b->key);
    });
    const auto same = [](const DevicePtr& a, const DevicePtr& b) { return a->key == b->key; };
    items_.erase(std::unique(items_.begin(), items_.end(), same), items_.end());
  }

  void reserve(size_t size) { items_.reserve(size); }
  void push_back(Device device) {
    items_.push_back(std::make_shared<const Device>(std::move(device)));
  }
  void push_back(DevicePtr device) { items_.push_back(std::move(device)); }

  // The same devices in the same order. A device that both lists share is not compared.
  bool operator==(const DeviceList& other) const {
    if (size() != other.size()) return false;
    for (size_t i = 0; i < size(); ++i) {
      if (items_[i] != other.items_[i] && *items_[i] != *other.items_[i]) return false;
    }
    return true;
  }

 private:
  std::vector<DevicePtr> items_;
};

}  // namespace tessera
