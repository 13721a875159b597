// SPDX-License-Identifier: Apache-2.0
#include "limiter/limits/file.h"

#include <cstdio>

namespace tessera::limiter {
namespace {

enum Key : uint32_t {
  kPolicy = 1,
  kPriority = 2,
  kOversubscribe = 4,
  kCorePolicy = 8,
  kRegion = 16,
  kMemoryBy = 32
};

class Reader {
 public:
  explicit Reader(Limits* limits) : limits_(*limits) {}

  bool Read(Text text) {
    if (text.size > kLimitsSize) return Broken("the file is longer than 65536 bytes");
    if (text.size == 0 || text.data[text.size - 1] != '\n') {
      return Broken("the last line has no end; the file is truncated");
    }
    while (text.size > 0) {
      ++line_;
      const Text whole = Cut(&text, '\n');
      if (!Plain(whole)) return Broken("a character that is not plain text");
      const Text line = Trim(whole.Until(whole.Find('#')));
      if (line.size > 0 && !ReadLine(line)) return false;
    }
    if (!named_) return Broken("no line says 'tessera-limits 1'");
    return limits_.count > 0 || Broken("no device is named");
  }

 private:
  bool Broken(const char* what, Text text = {}) {
    char where[32];
    std::snprintf(where, sizeof(where), "line %d", line_);
    char* const reason = limits_.reason;
    Explain(reason, sizeof(limits_.reason), where, what, text);
    return false;
  }

  static bool Plain(Text line) {
    for (size_t i = 0; i < line.size; ++i) {
      const char c = line.data[i];
      if ((c < ' ' && c != '\t') || c == 0x7f) return false;
    }
    return true;
  }

  bool ReadLine(Text line) {
    Text rest = line;
    if (!named_) {
      if (!(Cut(&rest, ' ') == kLimitsName)) {
        return Broken("the first line is not 'tessera-limits 1' but", line);
      }
      named_ = true;
      return Trim(rest) == "1" || Broken("only version 1 is known, not", Trim(rest));
    }
    if (line.StartsWith("device ")) return ReadDevice(Trim(line.From(7)));
    const Text key = Trim(Cut(&rest, '='));
    if (key.size == line.size) return Broken("neither a device nor KEY=VALUE:", line);
    return ReadKey(key, Trim(rest));
  }

  bool ReadDevice(Text rest) {
    if (limits_.count == kMaxDevices) return Broken("more than 16 devices");
    const Text uuid = Cut(&rest, ' ');
    if (!IsUuid(uuid)) return Broken("a device is GPU-... or MIG-..., not", uuid);
    for (int i = 0; i < limits_.count; ++i) {
      if (uuid == limits_.devices[i].uuid) return Broken("a device is named twice:", uuid);
    }
    DeviceLimit& device = limits_.devices[limits_.count];
    device = {};
    Copy(uuid, device.uuid, sizeof(device.uuid));
    bool has_memory = false;
    bool has_cores = false;
    for (rest = Trim(rest); rest.size > 0; rest = Trim(rest)) {
      Text value = Cut(&rest, ' ');
      const Text whole = value;
      const Text key = Cut(&value, '=');
      if (key.size == whole.size) return Broken("of a device, not KEY=VALUE:", whole);
      uint64_t number = 0;
      if (key == "memory") {
        if (has_memory) return Broken("memory is set twice");
        if (!ParseDecimal(value, kMaxBytes, &device.bytes)) {
          return Broken("memory is a number of bytes below 32 TiB, not", value);
        }
        has_memory = true;
      } else if (key == "cores") {
        if (has_cores) return Broken("cores are set twice");
        if (!ParseDecimal(value, 100, &number)) return Broken("cores are 0 to 100, not", value);
        device.cores = static_cast<uint32_t>(number);
        has_cores = true;
      }
    }
    ++limits_.count;
    return true;
  }

  static bool IsUuid(Text text) {
    if (!text.StartsWith("GPU-") && !text.StartsWith("MIG-")) return false;
    for (size_t i = 0; i < text.size; ++i) {
      const char c = text.data[i];
      const bool fits = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                        (c >= 'A' && c <= 'Z') || c == '-' || c == '/';
      if (!fits) return false;
    }
    return text.size > 4 && text.size < kUuidSize;
  }

  // False: the key is repeated.
  bool Once(Key key) {
    const bool fresh = (seen_ & key) == 0;
    seen_ |= key;
    return fresh || Broken("a key is set twice");
  }

  bool ReadKey(Text key, Text value) {
    if (key == "policy") return Once(kPolicy) && ReadPolicy(value);
    if (key == "priority") {
      limits_.priority = value == "0" ? 0 : 1;
      return Once(kPriority) &&
             (value == "0" || value == "1" || Broken("priority is 0 or 1, not", value));
    }
    if (key == "oversubscribe") {
      return Once(kOversubscribe) && Choose(value, "yes", "no", &limits_.oversubscribe);
    }
    if (key == "memory-by") {
      return Once(kMemoryBy) && Choose(value, "driver", "library", &limits_.memory_by_driver);
    }
    if (key == "core-policy") {
      return Once(kCorePolicy) && Choose(value, "free", "fixed", &limits_.core_policy_free);
    }
    if (key == "region") {
      if (!Once(kRegion)) return false;
      if (!value.StartsWith("/") || value.size >= sizeof(limits_.region)) {
        return Broken("region is an absolute path below 256 characters, not", value);
      }
      Copy(value, limits_.region, sizeof(limits_.region));
    }
    return true;
  }

  bool ReadPolicy(Text value) {
    if (value == "default") {
      limits_.core_policy = CorePolicy::kDefault;
    } else if (value == "force") {
      limits_.core_policy = CorePolicy::kForce;
    } else if (value == "disable") {
      limits_.core_policy = CorePolicy::kDisable;
    } else {
      return Broken("policy is default, force or disable, not", value);
    }
    return true;
  }

  bool Choose(Text value, const char* yes, const char* no, bool* chosen) {
    *chosen = value == yes;
    if (*chosen || value == no) return true;
    char what[48];
    std::snprintf(what, sizeof(what), "takes %s or %s, not", yes, no);
    return Broken(what, value);
  }

  Limits& limits_;
  int line_ = 0;
  bool named_ = false;
  uint32_t seen_ = 0;
};

}  // namespace

bool ParseLimitsFile(Text text, Limits* limits) {
  *limits = {};
  limits->source = Source::kFile;
  limits->priority = kDefaultPriority;
  if (Reader(limits).Read(text)) return true;
  char reason[sizeof(limits->reason)];
  std::memcpy(reason, limits->reason, sizeof(reason));
  *limits = {};
  limits->source = Source::kFile;
  limits->priority = kDefaultPriority;
  limits->broken = true;
  std::memcpy(limits->reason, reason, sizeof(reason));
  return false;
}

}  // namespace tessera::limiter
