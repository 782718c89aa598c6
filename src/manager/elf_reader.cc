#include "manager/elf_reader.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

namespace hotcell {

namespace {

constexpr std::size_t kMostSymbols = 1 << 20, kMostSegments = 1024, kMostDynamic = 4096, kLongestName = 4096;

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  template <typename T>
  bool at(std::uint64_t offset, T& out) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof out) return false;
    std::memcpy(&out, bytes_.data() + offset, sizeof out);
    return true;
  }
  // Ends at a NUL, at the end of the file, or where nobody's names end.
  std::string text(std::uint64_t offset) const {
    if (offset >= bytes_.size()) return {};
    auto rest = bytes_.substr(static_cast<std::size_t>(offset), kLongestName);
    return std::string(rest.substr(0, rest.find('\0')));
  }

 private:
  std::string_view bytes_;
};

struct Dynamic {
  std::uint64_t strtab = 0, symtab = 0, hash = 0, gnu_hash = 0;
  std::uint64_t rela = 0, rela_size = 0, plt = 0, plt_size = 0;
  std::vector<std::uint64_t> needed;
  std::optional<std::uint64_t> rpath;
};

class Parser {
 public:
  explicit Parser(std::string_view bytes) : in_(bytes) {}

  std::optional<ElfFacts> parse() {
    Elf64_Ehdr head;
    if (!in_.at(0, head) || std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0) return std::nullopt;
    if (head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_ident[EI_DATA] != ELFDATA2LSB) return std::nullopt;
    if (head.e_phentsize != sizeof(Elf64_Phdr) || head.e_phnum > kMostSegments) return std::nullopt;
    for (unsigned i = 0; i < head.e_phnum; ++i) {
      Elf64_Phdr segment;
      if (!in_.at(head.e_phoff + std::uint64_t{i} * sizeof segment, segment)) return std::nullopt;
      segments_.push_back(segment);
    }
    bool stack_said = false;
    for (const auto& s : segments_) {
      if (s.p_type == PT_INTERP) facts_.interpreter = in_.text(s.p_offset);
      if (s.p_type == PT_GNU_STACK) {
        stack_said = true;
        facts_.executable_stack = (s.p_flags & PF_X) != 0;
      }
      if (s.p_type == PT_LOAD && (s.p_flags & PF_W) != 0 && (s.p_flags & PF_X) != 0) facts_.writable_code = true;
    }
    // Who says nothing gets an executable one.
    if (!stack_said) facts_.executable_stack = true;
    for (const auto& s : segments_) {
      if (s.p_type != PT_DYNAMIC) continue;
      facts_.dynamic = true;
      if (!read_dynamic(s)) return std::nullopt;
    }
    std::sort(facts_.undefined.begin(), facts_.undefined.end());
    facts_.undefined.erase(std::unique(facts_.undefined.begin(), facts_.undefined.end()), facts_.undefined.end());
    return std::move(facts_);
  }

 private:
  std::optional<std::uint64_t> file_offset(std::uint64_t address) const {
    for (const auto& s : segments_) {
      if (s.p_type == PT_LOAD && address >= s.p_vaddr && address - s.p_vaddr < s.p_filesz)
        return s.p_offset + (address - s.p_vaddr);
    }
    return std::nullopt;
  }

  bool read_dynamic(const Elf64_Phdr& segment) {
    Dynamic d;
    for (std::size_t i = 0; i < kMostDynamic && (i + 1) * sizeof(Elf64_Dyn) <= segment.p_filesz; ++i) {
      Elf64_Dyn entry;
      if (!in_.at(segment.p_offset + i * sizeof entry, entry)) return false;
      switch (entry.d_tag) {
        case DT_NULL: i = kMostDynamic; break;
        case DT_STRTAB: d.strtab = entry.d_un.d_ptr; break;
        case DT_SYMTAB: d.symtab = entry.d_un.d_ptr; break;
        case DT_HASH: d.hash = entry.d_un.d_ptr; break;
        case DT_GNU_HASH: d.gnu_hash = entry.d_un.d_ptr; break;
        case DT_RELA: d.rela = entry.d_un.d_ptr; break;
        case DT_RELASZ: d.rela_size = entry.d_un.d_val; break;
        case DT_JMPREL: d.plt = entry.d_un.d_ptr; break;
        case DT_PLTRELSZ: d.plt_size = entry.d_un.d_val; break;
        case DT_NEEDED: d.needed.push_back(entry.d_un.d_val); break;
        case DT_RPATH:
        case DT_RUNPATH: d.rpath = entry.d_un.d_val; break;
        default: break;
      }
    }
    auto strings = file_offset(d.strtab);
    if (!strings) return d.symtab == 0;
    for (auto at : d.needed) facts_.needed.push_back(in_.text(*strings + at));
    if (d.rpath) facts_.rpath = in_.text(*strings + *d.rpath);
    auto symbols = file_offset(d.symtab);
    return !symbols || read_symbols(*symbols, *strings, count_symbols(d));
  }

  // The dynamic symbol table does not say how long it is. The hash tables know in part (the new one has only what the
  // program defines, and where that begins); relocations name each symbol the loader will look up. The largest counts.
  std::size_t count_symbols(const Dynamic& d) const {
    std::uint64_t count = 0;
    Elf64_Word head[2];
    if (auto at = file_offset(d.hash); d.hash != 0 && at && in_.at(*at, head)) count = head[1];
    if (auto at = file_offset(d.gnu_hash); d.gnu_hash != 0 && at && in_.at(*at, head))
      count = std::max<std::uint64_t>(count, head[1]);
    count = std::max(count, last_symbol(d.rela, d.rela_size));
    count = std::max(count, last_symbol(d.plt, d.plt_size));
    return static_cast<std::size_t>(std::min<std::uint64_t>(count, kMostSymbols));
  }

  std::uint64_t last_symbol(std::uint64_t address, std::uint64_t size) const {
    auto at = file_offset(address);
    if (address == 0 || !at) return 0;
    std::uint64_t last = 0;
    for (std::uint64_t i = 0; i < size / sizeof(Elf64_Rela) && i < kMostSymbols; ++i) {
      Elf64_Rela entry;
      if (!in_.at(*at + i * sizeof entry, entry)) break;
      last = std::max<std::uint64_t>(last, ELF64_R_SYM(entry.r_info) + 1);
    }
    return last;
  }

  bool read_symbols(std::uint64_t symbols, std::uint64_t strings, std::size_t count) {
    for (std::size_t i = 1; i < count; ++i) {
      Elf64_Sym symbol;
      if (!in_.at(symbols + i * sizeof symbol, symbol)) return false;
      if (symbol.st_shndx != SHN_UNDEF || symbol.st_name == 0) continue;
      facts_.undefined.push_back(in_.text(strings + symbol.st_name));
    }
    return true;
  }

  Reader in_;
  ElfFacts facts_;
  std::vector<Elf64_Phdr> segments_;
};

}  // namespace

std::optional<ElfFacts> read_elf(std::string_view bytes) { return Parser(bytes).parse(); }

}  // namespace hotcell
