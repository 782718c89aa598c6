#include "cells/decisions/standard.h"

#include "cells/decisions/decisions.h"

namespace hotcell::cells {
namespace {

// Looking is allowed, also writing inside the cell's own workspace (nothing of it reaches the project before an apply,
// which is asked about: `hotcell cell apply`); what destroys or leaves the cell is denied or asked about. No program that runs others by its
// options (find -exec, sort --compress-program, rg --pre, awk) is among those allowed.
constexpr std::string_view kStandard = R"(decisions:
  default: ask
  timeout: 5m
  protected: [.git, .gitmodules, .gitattributes, .hg, .svn, .jj, .husky, .pre-commit-config.yaml,
    .env, ".env.*", .envrc, .ssh, .aws, .gnupg, .kube, .docker, .netrc, .npmrc, ".yarnrc*", .pypirc,
    .bashrc, .bash_profile, .bash_logout, .profile, .zshrc, .zshenv, .zprofile,
    .vscode, .idea, .devcontainer, ".github/workflows/**", .gitlab-ci.yml, .agents, .mcp.json, .hotcell]
  rules:
    - {command: "rm -rf /", action: deny, reason: removes everything}
    - {command: "rm -fr /", action: deny, reason: removes everything}
    - {command: "rm -r -f /", action: deny, reason: removes everything}
    - {command: "rm -rf ~", action: deny, reason: removes the home folder}
    - {command: "rm -fr ~", action: deny, reason: removes the home folder}
    - {command: "rm -rf $HOME", action: deny, reason: removes the home folder}
    - {command: "rm --no-preserve-root *", action: deny, reason: removes everything}
    - {command: "rm * --no-preserve-root *", action: deny, reason: removes everything}
    - {command: "mkfs* *", action: deny, reason: formats a disk}
    - {command: "mount *", action: deny, reason: changes what is mounted}
    - {command: "umount *", action: deny, reason: changes what is mounted}
    - {command: "init *", action: deny, reason: changes the state of the machine}
    - {command: "shutdown *", action: deny, reason: changes the state of the machine}
    - {command: "reboot *", action: deny, reason: changes the state of the machine}
    - {command: "poweroff *", action: deny, reason: changes the state of the machine}
    - {command: "halt *", action: deny, reason: changes the state of the machine}
    - {command: "insmod *", action: deny, reason: loads code into the kernel}
    - {command: "modprobe *", action: deny, reason: loads code into the kernel}
    - {command: "sudo *", action: deny, reason: asks for the rights of root}
    - {command: "su *", action: deny, reason: asks for the rights of root}
    - {command: "doas *", action: deny, reason: asks for the rights of root}
    - {write: "/dev/**", action: deny, reason: a device}
    - {command: "ls *", action: allow}
    - {command: "pwd *", action: allow}
    - {command: "cd *", action: allow}
    - {command: "echo *", action: allow}
    - {command: "cat *", action: allow}
    - {command: "head *", action: allow}
    - {command: "tail *", action: allow}
    - {command: "wc *", action: allow}
    - {command: "grep *", action: allow}
    - {command: "diff *", action: allow}
    - {command: "cmp *", action: allow}
    - {command: "stat *", action: allow}
    - {command: "du *", action: allow}
    - {command: "df *", action: allow}
    - {command: "date *", action: allow}
    - {command: "basename *", action: allow}
    - {command: "dirname *", action: allow}
    - {command: "realpath *", action: allow}
    - {command: "readlink *", action: allow}
    - {command: "which *", action: allow}
    - {command: "whoami", action: allow}
    - {command: "id *", action: allow}
    - {command: "uname *", action: allow}
    - {command: "true", action: allow}
    - {command: "false", action: allow}
    - {command: "git status *", action: allow}
    - {read: "**", action: allow}
    - {write: "/work/**", action: allow, reason: inside the cell}
    - {write: "/tmp/**", action: allow, reason: inside the cell}
)";

}  // namespace

std::string_view standard_decisions_yaml() { return kStandard; }

DecisionPolicy standard_decisions() {
  // Read once. The reader takes what it protects where a file says nothing from here: that must not begin anew.
  static const DecisionPolicy kRead = [] {
    DecisionPolicy deny_all;
    deny_all.otherwise = Answer::kDeny;  // a text of ours that cannot be read; a test would have told
    return parse_decisions(kStandard, "standard").value_or(deny_all);
  }();
  return kRead;
}

}  // namespace hotcell::cells
