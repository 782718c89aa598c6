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
    {" loginctl machinectl ", " list list-sessions list-users show show-session show-user status "},
    {" docker podman nerdctl ", " ps images version info logs inspect top stats port history diff "},
    {" kubectl ", " get describe logs version explain top api-resources api-versions cluster-info "},
    {" lxc virsh ", " list info dominfo nodeinfo "},
    {" crontab at ", " -l "},
};
// Name, and the words that all arguments have to be of.
constexpr Shows kByAll[] = {
    {" mount ", " -l "},
    {" parted ", " -l --list -m -s "},
    {" dmesg ", " -T -H -x -k -l -e err warn --human --ctime --color=never --level=err --level=err,warn "},
    {" iptables ip6tables ", " -L -S -n -v -nL -nvL -vnL -Ln -Lnv --list --list-rules --line-numbers -t filter nat mangle INPUT OUTPUT FORWARD "},
};

// Devices may follow, but no other option.
constexpr Shows kByOptions[] = {
    {" swapon ", " -s --show --summary --noheadings --bytes --raw "},
    {" fdisk sfdisk ", " -l --list -x --list-details -o --output --bytes "},
    {" losetup ", " -l --list -a --all -n --noheadings -O --output -J --json --raw "},
};

// The same question asked elsewhere, or with a configuration that names programs to run (kubectl's exec plugins, docker's
// credential helpers); or an answer that is written to a file.
bool leads_elsewhere(const std::string& name, std::string_view word) {
  std::string_view options = one_of(name, " systemctl loginctl machinectl ") ? " -H --host -M --machine --root --image "
                             : name == "kubectl" ? " --kubeconfig -s --server --raw --token --output-directory --profile "
                                                   "--profile-output --cache-dir --client-key --client-certificate "
                                                 : " --config --host --url --connection --remote --tlscacert ";
  if (name == "virsh" && word.find_first_of(";\n") != word.npos) return true;
  const std::string_view option = word.substr(0, word.find('='));
  if (one_of(option, options)) return true;
  if (!one_of(name, " systemctl loginctl machinectl ")) return false;
  if (word.starts_with("-M")) return true;
  for (std::string_view whole : {"--host", "--machine", "--root", "--image"})  // getopt takes beginnings
    if (option.size() > 3 && whole.starts_with(option)) return true;
  return false;
}

// nft takes all of its words as one text, in which ; and line ends part commands.
bool nft_lists(std::span<const Field> rest) {
  std::string text;
  for (const Field& f : rest) {
    if (!f.known) return false;
    if (f.text.starts_with('-') && text.empty() && one_of(f.text, " -a -n -nn -s -j -y --handle --json --stateless "))
      continue;
    if (f.text.starts_with('-')) return false;
    text += f.text + " ";
  }
  return text.starts_with("list ") && text.find_first_of(";\n") == std::string::npos;
}

bool names_secrets(std::string_view word) { return word.find("secret") != std::string_view::npos || word.starts_with("-H"); }

}  // namespace

// date -s, hostname NAME, journalctl --vacuum-size: of commands that otherwise show something.
bool changes_machine(const std::string& name, std::span<const Field> words) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& w = words[i].text;
    const bool is_long = w.starts_with("--"), is_short = !is_long && w.size() > 1 && w[0] == '-';
    if (name == "date") {
      if (w.starts_with("--s")) return true;
      if (is_short) {
        std::size_t at = w.find_first_of("sdfrI", 1);  // those behind d, f, r and I are a value's letters
        if (at != std::string::npos && w[at] == 's') return true;
        if (at + 1 == w.size() && w[at] != 'I') ++i;
      } else if (w.size() >= 8 && w.find_first_not_of("0123456789.") == std::string::npos) {
        return true;  // MMDDhhmm
      }
    } else if (name == "hostname") {
      if (w.empty() || w[0] != '-' || one_of(w, " -F -b --file --boot ") || w.starts_with("--file=")) return true;
    } else if (name == "journalctl") {
      for (std::string_view option : {"--vacuum", "--rotate", "--flush", "--relinquish", "--setup-keys", "--update-catalog"})
        if (w.starts_with(option)) return true;
    } else if (one_of(name, " hostnamectl timedatectl ")) {
      if (w.starts_with("set-") || (w == "hostname" && i + 1 < words.size())) return true;
    }
  }
  return false;
}

bool only_looks(const std::string& name, std::span<const Field> words) {
  if (words.empty()) return false;
  auto rest = words.subspan(1);
  if (rest.size() == 1 && one_of(rest[0].text, " --version -V --help -h ")) return true;
  if (std::any_of(rest.begin(), rest.end(), [](const Field& f) { return names_secrets(f.text); })) return false;
  if (name == "service")
    return (rest.size() == 2 && rest[1].text == "status") || (rest.size() == 1 && rest[0].text == "--status-all");
  if (name == "nft") return nft_lists(rest);
  if (one_of(name, " systemctl loginctl "))
    while (!rest.empty() && one_of(rest[0].text, " --user --system --no-pager --quiet -q --full -l --plain "))
      rest = rest.subspan(1);
  if (name == "sysctl")  // names alone: a = or an option that loads would change them
    return !rest.empty() && std::all_of(rest.begin(), rest.end(), [](const Field& f) {
      return f.known && (f.text.starts_with('-') ? one_of(f.text, " -n -a -N -e --values --all ") : f.text.find('=') == std::string::npos);
    });
  for (const Shows& s : kByFirst)
    if (one_of(name, s.names) && !rest.empty() && rest[0].known && one_of(rest[0].text, s.first))
      return ((name != "crontab" && name != "at") || rest.size() == 1) &&
             std::none_of(rest.begin(), rest.end(), [&](const Field& f) { return leads_elsewhere(name, f.text); });
  for (const Shows& s : kByOptions)
    if (one_of(name, s.names))
      return !rest.empty() && one_of(rest[0].text, s.first) && std::all_of(rest.begin(), rest.end(), [&](const Field& f) {
        return f.known && (!f.text.starts_with('-') || one_of(f.text.substr(0, f.text.find('=')), s.first));
      });
  for (const Shows& s : kByAll)
    if (one_of(name, s.names))
      return std::all_of(rest.begin(), rest.end(), [&](const Field& f) { return f.known && one_of(f.text, s.first); });
  return false;
}

}  // namespace hotcell::bash
