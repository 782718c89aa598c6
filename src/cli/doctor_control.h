// The same attack without a cell, for those that are harmless there: a wall is only proven by an attack that works.
#pragma once
#include <string>

#include "cli/doctor_attack.h"
#include "cli/doctor_scene.h"

namespace hotcell {

AttackOutcome attack_outside(const AttackRow& row, const std::string& program_path, Scene& scene);

}  // namespace hotcell
