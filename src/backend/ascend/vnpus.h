// SPDX-License-Identifier: Apache-2.0
// Makes a vNPU of a template for each device of a grant, and destroys it when the grant has ended.
// Of a grant with parts (`policy: vgpu`), the part's size says which template; a whole chip is
// given as its node. The number of a vNPU is chosen and written down before it is made: so a crash
// leaves none that nobody owns, and no vNPU of another program is destroyed. No number is chosen
// that a record has. Calls for one chip's vNPUs come one after the other, and wait for no other
// chip. Owned by its backend; threaded as preparer.h says.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/ascend/library.h"
#include "backend/ascend/vnpu_records.h"
#include "backend/preparer.h"
#include "hami/vendor_table.h"
#include "os/files.h"

namespace tessera::ascend {

// The chip that a device is to be made of.
struct ChipPlace {
  dcmi::Place place{};
  uint32_t physical = 0;
};

class VnpuPreparer final : public Preparer {
 public:
  // Null: no chip of this device is known. Any thread.
  using FindChip = std::function<std::optional<ChipPlace>(const std::string& device)>;

  // `vgpu`: the row with the templates of parts; null: all vNPUs are of `vnpu_template`.
  VnpuPreparer(std::shared_ptr<dcmi::Session> session, os::Root root, std::string vnpu_template,
               const hami::ServedVendor* vgpu, VnpuRecords records, FindChip find)
      : session_(std::move(session)),
        root_(std::move(root)),
        template_(std::move(vnpu_template)),
        vgpu_(vgpu),
        records_(std::move(records)),
        find_(std::move(find)) {}

  const char* name() const override { return "ascend-vnpu"; }
  Result<Prepared> Prepare(const PrepareRequest& request) override;
  Status Unprepare(const UnprepareRequest& request) override;
  // kVnpuLost: a vNPU of the grant was destroyed, so one of its number is another's.
  Status CheckHeld(const std::string& grant, const Prepared& prepared) override;

 private:
  Result<uint32_t> Make(const dcmi::Library& library, const ChipPlace& chip,
                        const PrepareRequest& request, const std::string& device,
                        const std::string& name) const;
  // kUnavailable: the chip has a vNPU, or one may be in the making; the message says whose.
  Status CheckUndivided(const dcmi::Library& library, const ChipPlace& chip, Steady until) const;
  // Empty: the grant has the whole chip. kNotPlaced: it has no template's size.
  Result<std::string> TemplateFor(const PrepareRequest& request, size_t device) const;
  Status Forget(const dcmi::Library& library, const std::string& grant, const OwnVnpu& vnpu,
                const dcmi::Failure& failure) const;
  std::vector<std::string> Strays(const dcmi::Library& library, const OwnVnpu& vnpu) const;
  static std::optional<std::string> NameOf(const dcmi::Library& library, dcmi::Place place,
                                           uint32_t id);
  Result<bool> IsThere(const dcmi::Library& library, const OwnVnpu& vnpu) const;
  Status Destroy(const dcmi::Library& library, const std::string& grant, const OwnVnpu& of) const;

  const std::shared_ptr<dcmi::Session> session_;
  const os::Root root_;
  const std::string template_;
  const hami::ServedVendor* const vgpu_;
  const VnpuRecords records_;
  const FindChip find_;
};

}  // namespace tessera::ascend
