// SPDX-License-Identifier: Apache-2.0
// Names that hardware has in sysfs, and the profiles in resources' names that follow from them. The
// formulas are those of Intel's plugin and of Xilinx's. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tessera::fpga {

// The profile of a device whose hardware cannot be read.
inline constexpr std::string_view kUnknownProfile = "unknown";

// The number in "dfl-port.12" behind "dfl-port."; nothing: the name is another one.
std::optional<unsigned> NumberBehind(std::string_view prefix, std::string_view name);

// The last PCI address among a path's parts: "0000:5e:00.0". Empty: there is none.
std::string PciAddressIn(std::string_view path);

// XRT's number of a function, which its queues' node has, by the function's address. Nothing: the
// text is none.
std::optional<unsigned> InstanceOf(std::string_view address);

// Ids of interfaces and accelerator functions: 32 hexadecimal digits, here in small letters.
// Nothing: the text is another one.
std::optional<std::string> ParseId(std::string_view text);
// Hardware that does not answer has this id.
bool IsOnes(std::string_view id);

// "af-ce4.d84.zkiWk5jwXzOUbVYHCL4QithCTcSko8QT-J5DNoP5BAs".
std::string AfProfile(std::string_view interface_id, std::string_view afu_id);
// "region-ce48969398f05f33946d560708be108a".
std::string RegionProfile(std::string_view interface_id);

// Of a shell and its time: "xilinx_u250_gen3x16_xdma_shell_4_1-0". Nothing: no resource can have
// that name.
std::optional<std::string> ShellProfile(std::string_view shell, std::string_view time);

// A register's text, "0x10" or "16".
std::optional<uint64_t> ParseRegister(std::string_view text);

}  // namespace tessera::fpga
