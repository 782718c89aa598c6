// Files into a cell: by held descriptor, never by a path the cell could have changed.
#pragma once
#include <string>

#include "hotcell/request.h"
#include "hotcell/result.h"

namespace hotcell {

// `id` ≠ 0: the file belongs to the cell's host id.
Result<void> write_input_file(int workspace, const InputFile& file, unsigned id);

// The landlock backend has no tmpfs: a folder of its own under /tmp, 0700.
Result<std::string> make_flat_workspace(unsigned id);
// The same, for other purposes; and what launchers that were killed have left of both. False: something is still in use.
Result<std::string> make_flat_folder();
bool sweep_flat_folders();
// What write_input_file has made, folders too; only while no program has been there.
Result<void> remove_input_files(int workspace, const std::vector<InputFile>& files, unsigned id);
void remove_flat_workspace(const std::string& path);

}  // namespace hotcell
