#include "core/kernel/caps.h"

namespace hotcell {

void plan_caps(const Host& host, PlanBuilder& plan) {
  plan.add({.kind = OpKind::kDropCaps, .layer = Layer::kCapabilities, .a = host.last_cap}, "every set empty, securebits locked");
  plan.add({.kind = OpKind::kNoNewPrivs, .layer = Layer::kNoNewPrivs}, "no exec raises privileges");
}

}  // namespace hotcell
