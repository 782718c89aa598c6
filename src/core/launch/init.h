// What init's two roles share. Freestanding, like everything in init.
#pragma once
#include <sys/types.h>

#include "core/kernel/apply.h"

namespace hotcell {

extern ApplyContext g_ctx;
extern const PlanHeader* g_plan;
extern const Op* g_ops;
extern Record g_record;
extern bool g_plan_is_low;                    // right behind our data, not among the far mappings
extern char g_template_stack[32 << 10];

enum class Role : uint32_t { kTemplate = kOnlyTemplate, kDirect = kOnlyDirect, kStamped = kOnlyStamped };

[[noreturn]] void fail(int socket, int op, int err);
unsigned run_ops(int socket, Role role, unsigned from, OpKind until);      // returns the index of `until`
void start_afresh(Role role);                                              // nothing done yet, only inherited descriptors held
// One message and the descriptors that came with it; less than `size` when it is shorter or the other side is gone.
ssize_t receive_with_fds(int socket, void* bytes, size_t size, int* fds, unsigned most, unsigned& count);
void clean_signals();                                                      // whatever the launcher had ignored
[[noreturn]] void be_cell(Role role, unsigned from);
[[noreturn]] void be_template();
void give_back_pages(void* from, size_t size);                             // they read as zero from now on
void forget_template();                                                    // in a clone: what only the template needs

}  // namespace hotcell
