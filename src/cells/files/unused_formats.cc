// libarchive's one file that names every format it can write brings them all into a static program, and with them XML, three
// compressors and a library of ciphers. We write one format: the others are refused here, and stay out.
struct archive;

namespace {
constexpr int kFatal = -30;  // ARCHIVE_FATAL
}

#define HOTCELL_NO_FORMAT(name) \
  extern "C" int archive_write_set_format_##name(archive*) { return kFatal; }

extern "C" {
int archive_write_set_format_7zip(archive*);
int archive_write_set_format_iso9660(archive*);
int archive_write_set_format_mtree(archive*);
int archive_write_set_format_mtree_classic(archive*);
int archive_write_set_format_warc(archive*);
int archive_write_set_format_xar(archive*);
int archive_write_set_format_zip(archive*);
}

HOTCELL_NO_FORMAT(7zip)
HOTCELL_NO_FORMAT(iso9660)
HOTCELL_NO_FORMAT(mtree)
HOTCELL_NO_FORMAT(mtree_classic)
HOTCELL_NO_FORMAT(warc)
HOTCELL_NO_FORMAT(xar)
HOTCELL_NO_FORMAT(zip)
