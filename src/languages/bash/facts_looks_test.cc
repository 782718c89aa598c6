// Commands that show something, and the options by which the same ones change it, ask elsewhere or run programs.
#include <gtest/gtest.h>

#include "languages/bash/facts_testing.h"

namespace hotcell::bash {
namespace {

TEST(BashLooks, WhatDoesMoreThanShowIsAnError) {
  for (const char* script : {"nft 'list ruleset; flush ruleset'",
                             "nft list ruleset \\; flush ruleset",
                             "nft \"list ruleset\nflush ruleset\"",
                             "nft list ruleset -f x",
                             "nft list $x",
                             "losetup -l -d /dev/loop0",
                             "losetup --list --detach /dev/loop0",
                             "losetup -d x",
                             "systemctl status --host=x y",
                             "systemctl status -H x y",
                             "systemctl status -Mweb y",
                             "systemctl status --hos=x y",
                             "systemctl status --root=/x y",
                             "systemctl --user stop x",
                             "kubectl get pods --kubeconfig=./k",
                             "kubectl --kubeconfig=./k get pods",
                             "KUBECONFIG=./k kubectl get pods",
                             "export KUBECONFIG=./k; kubectl get pods",
                             "env KUBECONFIG=./k kubectl get pods",
                             "kubectl get --raw /api",
                             "kubectl get pods -s https://x",
                             "kubectl cluster-info dump --output-directory=x",
                             "DOCKER_HOST=tcp://x docker ps",
                             "DOCKER_CONFIG=./c docker ps",
                             "docker ps --config ./c",
                             "docker -H tcp://x ps",
                             "podman ps --url ssh://x",
                             "virsh list \\; destroy x",
                             "sfdisk -l --delete x",
                             "parted -l mklabel gpt",
                             "find / -false -o -delete",
                             "find . -fprintf /etc/x y",
                             "mount /dev/sda1 x",
                             "mount -a",
                             "ip -b file",
                             "ip -batch - <<< 'link del eth0'",
                             "ip vrf exec x rm -rf /",
                             "ip -all netns exec rm -rf /",
                             "ip -n y netns exec x rm -rf /",
                             "git --exec-path=./x log",
                             "git --config-env=core.pager=X log",
                             "git -C x config core.pager ./x",
                             "git -c core.pager=./x log",
                             "GIT_EXEC_PATH=./x git log",
                             "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.pager GIT_CONFIG_VALUE_0=./x git log",
                             "GIT_CONFIG_PARAMETERS=\"'core.pager=./x'\" git log",
                             "sysctl -w a.b=1",
                             "sysctl -p",
                             "sysctl -n a.b -p",
                             "dmesg -C",
                             "dmesg -Tc",
                             "crontab -",
                             "crontab -l -r"}) {
    auto found = judged(script);
    EXPECT_GT(found.count("error"), 0) << script << "\n" << found.words();
  }
}

TEST(BashLooks, ChangesToClockNameAndLogAreSaid) {
  for (const char* script : {"date -s '2020-01-01'", "date -us x", "date --set=x", "date 010100002020", "hostname x",
                             "hostname -F f", "hostname \"$x\"", "hostnamectl set-hostname x", "timedatectl set-time x",
                             "journalctl --vacuum-size=1M", "journalctl --rotate"}) {
    auto found = judged(script);
    EXPECT_TRUE(found.has("bash-changes-machine", "warning")) << script << "\n" << found.words();
    EXPECT_TRUE(judged(script, VerifyLevel::kStrict).has("bash-changes-machine", "error")) << script;
  }
}

TEST(BashLooks, ShowingIsAWarningAtMost) {
  for (const char* script : {"nft list ruleset",
                             "nft 'list ruleset'",
                             "nft -a list table inet x",
                             "losetup -l",
                             "losetup -a; swapon --show",
                             "systemctl --user list-units --failed --no-pager",
                             "systemctl --no-pager status x",
                             "systemctl status \"$svc\"",
                             "loginctl show-session x",
                             "service --status-all",
                             "service x status",
                             "kubectl get pods -n web -o json --output=yaml",
                             "kubectl --help",
                             "docker ps $x; docker logs -f web; docker inspect -f '{{.Id}}' x",
                             "virsh list --all",
                             "mount; mount -l",
                             "ip addr; ip -br link; ip route show",
                             "git -C x status; git --no-pager log; git --exec-path",
                             "git -c user.name=x commit -m y; git config user.name x; git -C x config user.email y",
                             "GIT_CONFIG_GLOBAL=/dev/null git log", "GIT_EXEC_PATH=$(git --exec-path); export GIT_EXEC_PATH",
                             "date; date +%s; date -Is; date -Iseconds; date -d 'last sunday' +%F; date -u -d @0; date "
                             "-ud now; date -r f +%s; date -R",
                             "hostname; hostname -f; hostname -I",
                             "sysctl -n kernel.ostype",
                             "dmesg -T",
                             "journalctl -u x -n 5",
                             "crontab -l"}) {
    auto found = judged(script);
    EXPECT_EQ(found.count("error"), 0) << script << "\n" << found.words();
    EXPECT_FALSE(found.has("bash-changes-machine")) << script << "\n" << found.words();
  }
}

}  // namespace
}  // namespace hotcell::bash
