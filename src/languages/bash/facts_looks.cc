// Commands of administrators that only show something when they are called in a certain way: what monitoring scripts do.
#include <algorithm>

#include "languages/bash/facts_analyser.h"
#include "languages/bash/facts_text.h"

namespace hotcell::bash {
namespace {

// Name, and the words of which the first argument has to be one.
struct Shows {
  std::string_view names, first;
};
constexpr Shows kByFirst[] = {
    {" systemctl ", " status is-active is-enabled is-failed list-units list-unit-files list-timers list-sockets show get-default "},
    {" loginctl machinectl ", " list list-sessions list-users show status "},
    {" docker podman nerdctl ", " ps images version info logs inspect top stats port history diff "},
    {" kubectl ", " get describe logs version explain top api-resources api-versions cluster-info "},
    {" lxc virsh ", " list info dominfo nodeinfo "},
    {" nft ", " list "},
    {" crontab at ", " -l "},
    {" swapon ", " -s --show --summary "},
    {" fdisk sfdisk parted losetup ", " -l --list "},
};
// Name, and the words that all arguments have to be of.
constexpr Shows kByAll[] = {
    {" mount ", " -l "},
    {" losetup ", " -a --all "},
    {" dmesg ", " -T -H -x -k -l -e err warn --human --ctime --color=never --level=err --level=err,warn "},
    {" iptables ip6tables ", " -L -S -n -v -nL -nvL -vnL -Ln -Lnv --list --list-rules --line-numbers -t filter nat mangle INPUT OUTPUT FORWARD "},
};

bool names_secrets(std::string_view word) { return word.find("secret") != std::string_view::npos || word.starts_with("-H"); }

}  // namespace

bool only_looks(const std::string& name, std::span<const Field> words) {
  if (words.empty()) return false;
  auto rest = words.subspan(1);
  if (rest.size() == 1 && one_of(rest[0].text, " --version -V --help -h ")) return true;
  if (std::any_of(rest.begin(), rest.end(), [](const Field& f) { return names_secrets(f.text); })) return false;
  if (name == "service") return rest.size() == 2 && rest[1].text == "status";
  if (name == "sysctl")  // names alone: a = or an option that loads would change them
    return !rest.empty() && std::all_of(rest.begin(), rest.end(), [](const Field& f) {
      return f.known && (f.text.starts_with('-') ? one_of(f.text, " -n -a -N -e --values --all ") : f.text.find('=') == std::string::npos);
    });
  for (const Shows& s : kByFirst)
    if (one_of(name, s.names) && !rest.empty() && rest[0].known && one_of(rest[0].text, s.first))
      return (name != "crontab" && name != "at") || rest.size() == 1;
  for (const Shows& s : kByAll)
    if (one_of(name, s.names))
      return std::all_of(rest.begin(), rest.end(), [&](const Field& f) { return f.known && one_of(f.text, s.first); });
  return false;
}

}  // namespace hotcell::bash
