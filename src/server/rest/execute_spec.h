// The body of an execute request → a JobSpec.
#pragma once
#include "manager/job.h"
#include "server/rest/json_reader.h"

namespace hotcell::server {

Result<JobSpec> job_spec_from_json(const JsonValue& body);
// Its field `inspect`: report, mark or block.
Result<InspectMode> inspect_from_json(const JsonReader& reader);

// "64M" or a number of bytes; "30s" or a number of seconds. 0 is refused.
Result<LimitsPatch> limits_from_json(const JsonValue& limits);

// {"name": "text"} or [{"name","content","encoding","executable"}].
Result<std::vector<JobFile>> files_from_json(const JsonValue& files);

// A path inside the cell: "" for the default, relative names are below /work.
Result<std::string> work_dir_from(std::string_view said);
// allow_domains and block_domains: what the proxy may reach, within the configuration.
Result<void> read_domains(const JsonReader& reader, JobSpec& spec);
// A name, never a path: a caller must not have us read files.
Result<void> check_profile_name(std::string_view name);
// The same, and kNotFound when there is none of that name: load_profile calls both mistakes invalid.
Result<void> check_profile_known(std::string_view name, const ProfileSearch& search);

}  // namespace hotcell::server
