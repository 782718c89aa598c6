// The two halves of the agent (agent.cc speaks with the host, walls.cc builds what is around the program), and the runner.
// Freestanding: static, against musl, no C++ library, no malloc.
#pragma once
#include <stdint.h>
#include <sys/types.h>

namespace hotcell::vm {

constexpr int kMost = 4096;  // arguments, variables, shares

struct Spec {
  char* argv[kMost + 1];
  char* envp[kMost + 1];
  char* hidden[8];
  char* shares[64];
  char* links[256];
  int argc, envc, hidden_count, share_count, link_count;
  const char* folder;
  unsigned uid, gid;
  uint64_t memory, processes, open_files, file_size, stack, scratch;
  const char* filter;
  uint32_t filter_size;
  bool read_only, image;
};

struct Started {
  pid_t init;      // first process of the program's pid namespace
  int in, out, err, go;  // our ends
  int status;            // R: all is done but the exec; a wait status; or ! and a step that failed
};

// False: the name of the step that failed and its errno are in `step` and `error`.
struct Failure {
  const char* step;
  int error;
};
bool boot_guest(Failure& f);                                  // once, before a snapshot
bool build_root(const Spec& spec, Failure& f);                // mounts what the program sees
bool start_program(const Spec& spec, Started& s, Failure& f);
// What is known of the waiting process, in the words of the posture script (posture.cc). Returns the length.
uint32_t read_back(const Spec& spec, const Started& s, char* text, uint32_t room);
uint64_t cgroup_number(const char* file, const char* word);   // 0 when it is not there

int agent_main();
int runner_main(int argc, char** argv);

bool write_text(const char* path, const char* text);
long read_text(const char* path, char* text, long room);

}  // namespace hotcell::vm
