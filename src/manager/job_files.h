// The files that come with a request, by whichever door: names that mean what they say, and nothing that a tool would run by itself.
#pragma once
#include "manager/job.h"

namespace hotcell {

// Relative, inside the workspace whatever is there already, each once, none a file and a folder. The error names the file.
Result<void> check_files(const std::vector<JobFile>& files);

}  // namespace hotcell
