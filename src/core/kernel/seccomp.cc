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

Nets net_of(const SeccompRequest& r) { return r.network_on ? kRealInet : r.isolated_network ? kOwnInet : kNoInet; }

bool is_preset(const SeccompRequest& r) {
  return r.allow.empty() && r.deny.empty() && r.oci_json.empty() && !r.observe_files;
}

const EmbeddedFilter* find_embedded(Bases base, Nets net, bool notify) {
  for (std::uint32_t i = 0; i < kEmbeddedFilterCount; ++i) {
    const EmbeddedFilter& f = kEmbeddedFilters[i];
    if (f.arch == kNativeArch && f.base == base && f.net == net && f.notify == notify) return &f;
  }
  return nullptr;
}

}  // namespace

Result<FilterModel> model_seccomp(const SeccompRequest& request, Arch arch) {
  TRY_SET(const Bases base, base_of(request.base));
  FilterModel model = build_model(base, net_of(request), arch);
  for (const std::string& name : request.allow) TRY(allow_call(model, name));
  for (const std::string& name : request.deny) TRY(deny_call(model, name));
  // After `allow`: the file narrows what the profile says, whatever that is.
  if (!request.oci_json.empty()) TRY(intersect_oci(model, request.oci_json));
  if (request.observe_files) observe_calls(model);
  return model;
}

Result<SeccompProgram> plan_seccomp(const SeccompRequest& request) {
  TRY_SET(const Bases base, base_of(request.base));
  if (is_preset(request)) {
    if (const EmbeddedFilter* f = find_embedded(base, net_of(request), request.notify))
      return SeccompProgram{{f->insns, f->insns + f->count}, request.notify, "embedded " + request.base};
  }
  TRY_SET(const FilterModel model, model_seccomp(request));
  SeccompProgram program{compile_filter(model, request.notify ? Listener::kPresent : Listener::kNone), request.notify,
                         cat("compiled from ", request.base)};
  if (!request.allow.empty()) program.source += cat(", ", request.allow.size(), " allowed");
  if (!request.deny.empty()) program.source += cat(", ", request.deny.size(), " denied");
  if (!request.oci_json.empty()) program.source += ", narrowed by syscalls.file";
  if (request.observe_files) program.source += ", file calls observed";
  if (program.insns.size() > kMaxFilterLength)
    return make_error(ErrorCode::kInvalid, cat("syscalls: the filter would have ", program.insns.size(),
                                               " instructions, and the kernel takes ", kMaxFilterLength));
  return program;
}

bool seccomp_observes(int nr, std::uint32_t arch) { return contains_name(observed_calls(), syscall_name(nr, arch)); }

}  // namespace hotcell
