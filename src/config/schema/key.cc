// SPDX-License-Identifier: Apache-2.0
#include "config/schema/key.h"

#include <mutex>

namespace tessera::config {

std::string_view TypeText(Type type) {
  switch (type) {
    case Type::kSection:
      return "section";
    case Type::kList:
      return "list of sections";
    case Type::kText:
      return "text";
    case Type::kPath:
      return "path";
    case Type::kBool:
      return "true or false";
    case Type::kInt:
      return "whole number";
    case Type::kDecimal:
      return "number";
    case Type::kTime:
      return "time";
    case Type::kEnum:
      return "choice";
    case Type::kEnumList:
      return "list of choices";
    case Type::kPathList:
      return "list of paths";
  }
  return "";
}

std::string_view EffectText(Effect effect) {
  switch (effect) {
    case Effect::kLive:
      return "at once";
    case Effect::kRegister:
      return "new registration";
    case Effect::kRestart:
      return "restart";
  }
  return "";
}

struct Keys::List {
  const Describe describe;
  std::once_flag once{};
  std::vector<Key> keys{};
};

Keys::Keys(Describe describe) : list_(std::make_shared<List>(std::move(describe))) {}

const std::vector<Key>& Keys::described() const {
  static const std::vector<Key> kNone;
  if (list_ == nullptr) return kNone;
  std::call_once(list_->once, [this] { list_->keys = list_->describe(); });
  return list_->keys;
}

const Key* Key::Child(std::string_view child) const {
  for (const Key& key : children) {
    if (key.name == child) return &key;
  }
  return nullptr;
}

std::vector<std::string> Key::ChildNames() const {
  std::vector<std::string> names;
  for (const Key& key : children) names.emplace_back(key.name);
  return names;
}

}  // namespace tessera::config
