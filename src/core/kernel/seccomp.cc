#include "core/kernel/seccomp.h"

#include <algorithm>

#include "base/strings.h"
#include "core/kernel/seccomp_compile.h"
#include "core/kernel/seccomp_oci.h"

namespace hotcell {
namespace {

Result<Bases> base_of(std::string_view name) {
  if (name == "default") return kDefaultBase;
  if (name == "strict") return kStrictBase;
  return make_error(ErrorCode::kInvalid,
                    cat("syscalls.base: '", printable(name), "' is not a list; there are default and strict"));
}

Nets net_of(const SeccompRequest& r) {
  if (r.network_on) return r.own_namespaces ? kRealInet : kFlatInet;
  return r.own_namespaces && r.isolated_network ? kOwnInet : kNoInet;
}

bool is_preset(const SeccompRequest& r) {
  return r.allow.empty() && r.deny.empty() && r.oci_json.empty() && !r.observe_files;
}

const EmbeddedFilter* find_embedded(Bases base, const SeccompRequest& r) {
  for (std::uint32_t i = 0; i < kEmbeddedFilterCount; ++i) {
    const EmbeddedFilter& f = kEmbeddedFilters[i];
    if (f.arch == kNativeArch && f.base == base && f.net == net_of(r) && f.notify == r.notify &&
        f.counted == r.counted_memory) return &f;
  }
  return nullptr;
}

}  // namespace

Result<FilterModel> model_seccomp(const SeccompRequest& request, Arch arch) {
  TRY_SET(const Bases base, base_of(request.base));
  FilterModel model = build_model(base, net_of(request), arch);
  if (!request.counted_memory) refuse_uncounted(model);
  for (const std::string& name : request.allow) TRY(allow_call(model, name));
  for (const std::string& name : request.deny) TRY(deny_call(model, name));
  // After `allow`: the file narrows what the profile says, whatever that is.
  if (!request.oci_json.empty()) TRY(intersect_oci(model, request.oci_json));
  return model;
}

Result<SeccompProgram> plan_seccomp(const SeccompRequest& request) {
  TRY_SET(const Bases base, base_of(request.base));
  const bool marks = request.notify && (net_of(request) & kFlat) != 0;
  if (is_preset(request)) {
    if (const EmbeddedFilter* f = find_embedded(base, request)) {
      SeccompProgram program{{f->insns, f->insns + f->count}, request.notify, "embedded " + request.base};
      for (std::string_view name : split(file_marks(), ' '))
        if (auto number = marks ? syscall_number(name, kNativeArch) : std::nullopt) program.marks.push_back(*number);
      return program;
    }
  }
  TRY_SET(FilterModel model, model_seccomp(request));
  std::vector<std::uint32_t> observed, handed;
  // First: what is done for the program does not go on by itself.
  if (marks) handed = hand_over_marks(model);
  if (request.observe_files && request.notify) observed = observe_calls(model);
  SeccompProgram program{compile_filter(model, request.notify ? Listener::kPresent : Listener::kNone), request.notify,
                         cat("compiled from ", request.base)};
  if (!request.allow.empty()) program.source += cat(", ", request.allow.size(), " allowed");
  if (!request.deny.empty()) program.source += cat(", ", request.deny.size(), " denied");
  if (!request.oci_json.empty()) program.source += ", narrowed by syscalls.file";
  if (!observed.empty()) program.source += ", file calls observed";
  program.observed = std::move(observed);
  program.marks = std::move(handed);
  if (program.insns.size() > kMaxFilterLength)
    return make_error(ErrorCode::kInvalid, cat("syscalls: the filter would have ", program.insns.size(),
                                               " instructions, and the kernel takes ", kMaxFilterLength));
  return program;
}

}  // namespace hotcell
