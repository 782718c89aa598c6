// What init's two roles share. Freestanding, like everything in init.
#pragma once
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
void clean_signals();                                                      // whatever the launcher had ignored
[[noreturn]] void be_cell(Role role, unsigned from);
[[noreturn]] void be_template();

}  // namespace hotcell
