// What init's two roles share. Freestanding, like everything in init.
#pragma once
#include <sys/types.h>

#include "core/kernel/apply.h"

namespace hotcell {

extern ApplyContext g_ctx;
extern const PlanHeader* g_plan;
extern const Op* g_ops;
extern Record g_record;

enum class Role : uint32_t { kTemplate = kOnlyTemplate, kDirect = kOnlyDirect, kStamped = kOnlyStamped };

[[noreturn]] void fail(int socket, int op, int err);
unsigned run_ops(int socket, Role role, unsigned from, OpKind until);      // returns the index of `until`
void start_afresh(Role role);                                              // nothing done yet, only inherited descriptors held
// One message and the descriptors that came with it; less than `size` when it is shorter or the other side is gone.
ssize_t receive_with_fds(int socket, void* bytes, size_t size, int* fds, unsigned most, unsigned& count);
void clean_signals();                                                      // whatever the launcher had ignored
[[noreturn]] void be_cell(Role role, unsigned from);
[[noreturn]] void be_template();

}  // namespace hotcell
