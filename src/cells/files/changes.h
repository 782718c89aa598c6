// Finds what differs between a cell's two folders; diff and apply are made of it.
#pragma once
#include <sys/stat.h>

#include <functional>
#include <string>
#include <vector>

#include "cells/files/tree.h"
#include "sys/fd.h"

namespace hotcell::cells {

struct OpenLayers {
  sys::Fd lower;  // not valid: there is no project
  sys::Fd upper;
};
Result<OpenLayers> open_layers(const Layers& layers);
// Of a request: clean, sorted, and without those that are below another one.
Result<std::vector<std::string>> clean_selection(const std::vector<std::string>& paths);

struct FoundChange {
  Change change;            // without its patch
  struct stat upper {}, lower {};  // of what is there; zero where nothing is
};
// With kParents new folders above what is selected are found as well: it cannot be anywhere without them.
enum class Above : std::uint8_t { kNothing, kParents };
// Sorted by path, with the modes that closed folders of either layer have without `unlocked`, which keeps them open for as long
// as the caller reads from them.
Result<std::vector<FoundChange>> find_changes(const OpenLayers& layers, const std::vector<std::string>& selection,
                                              std::size_t at_most, Unlocked& unlocked, Above above = Above::kNothing);

}  // namespace hotcell::cells
