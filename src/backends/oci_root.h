// The root file system of an OCI bundle: the host's folders, as in a native cell, or an image: a folder, a tar (plain, gzip, zstd), or
// one tag of an image layout, as umoci and skopeo write them. Archives are unpacked once, by their content, and shared read-only.
#pragma once
#include <string>
#include <vector>

#include "backends/backend.h"
#include "backends/view.h"
#include "hotcell/result.h"

namespace hotcell::backends {

// `oci.rootfs` or `oci.image` as a folder; empty: neither was said. What is not in the cache yet is unpacked.
Result<std::string> oci_root(const Settings& settings);
std::string oci_cache();   // ~/.cache/hotcell-images; as root /var/cache/hotcell-images

// As view_sealed, of the folder `root` instead of the host's: nothing is made in it, and nothing of it is followed on the host.
Result<std::vector<Shown>> view_of_root(const ToolRequest& request, const std::string& root);

// Unpacks a layout's tag into `into`. Every digest is verified before what it names is used.
Result<std::string> layout_manifest(const std::string& layout, const std::string& tag, std::string& manifest);
Result<void> unpack_layout(const std::string& layout, const std::string& manifest, int into);

}  // namespace hotcell::backends
