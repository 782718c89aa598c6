// Each language's plugin, defined in its own folder (plugin*.cc).
#pragma once
#include "core/policy/profile.h"
#include "hotcell/language.h"

namespace hotcell {

#define LANGUAGE(plugin) extern const Language plugin;
#include "languages/registry.inc"
#undef LANGUAGE

// C and C++ as WebAssembly: of the `wasm` backend, and not in the registry, where they would have the same extensions.
extern const Language kWasmC, kWasmCpp;

// src/languages/*/profiles/*.yaml, embedded at build.
std::span<const BuiltInProfile> language_profiles();

}  // namespace hotcell
