// Collects operations, with a sentence for each, and lays them out as the bytes that init maps.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "core/kernel/ops.h"
#include "hotcell/layer.h"
#include "hotcell/result.h"

namespace hotcell {

std::string_view to_string(OpKind kind);

struct OpSpec {
  OpKind kind;
  Layer layer = Layer::kRootfs;
  unsigned slot = 0;
  std::string_view path = {};
  std::string_view data = {};
  std::uint32_t flags = 0, reserved = 0;
  std::uint64_t a = 0, b = 0;
};

// What an inherited descriptor must be when a cell is started from this plan.
struct Inherited {
  enum class Kind { kCgroupTasks, kGrant, kLayer, kDevice } kind;
  unsigned index = 0;  // of the controller, the grant, or the layer of the workspace
};

class PlanBuilder {
 public:
  PlanBuilder();
  void add(const OpSpec& spec, std::string note = {});
  unsigned inherit(Inherited what);      // a slot filled by the launcher
  unsigned new_slot();                   // a slot filled by an operation

  struct Entry {
    OpKind kind;
    Layer layer;
    std::string note;
  };
  const std::vector<Entry>& entries() const { return entries_; }
  struct Source {
    std::string path;
    std::uint64_t dev, ino;
  };
  const std::vector<Source>& sources() const { return sources_; }  // files of the host as they were when planned
  const std::vector<Inherited>& inherited() const { return inherited_; }
  void set_flat() { flat_ = true; }
  void set_own_memory() { own_memory_ = true; }
  void set_reuse_nets() { reuse_nets_ = true; }
  void set_cell(std::uint32_t uid, std::uint32_t gid, std::uint64_t clone_flags) { uid_ = uid, gid_ = gid, clone_flags_ = clone_flags; }
  Result<std::string> bytes() const;

 private:
  std::uint32_t store(std::string_view text);
  std::vector<Op> ops_;
  std::vector<Entry> entries_;
  std::vector<Inherited> inherited_;
  std::vector<Source> sources_;
  std::string strings_;  // offsets are relative to its start until bytes() lays it out
  unsigned next_slot_ = kDnsSlot;  // downwards; the ones above have a fixed use
  bool flat_ = false, own_memory_ = false, reuse_nets_ = false;
  std::uint32_t uid_ = 0, gid_ = 0;
  std::uint64_t clone_flags_ = 0;
};

}  // namespace hotcell
