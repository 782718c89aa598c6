// What the directives of a source say; fills the macros on the way.
#pragma once
#include "languages/c/facts_macros.h"
#include "languages/c/facts_walk.h"

namespace hotcell::c {
void see_directives(const Scan& scan, Macros& macros, FactList& facts);
void see_pragma(const Directive& d, FactList& facts);
}  // namespace hotcell::c
