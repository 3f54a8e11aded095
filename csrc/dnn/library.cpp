// oneDNN, opened when it is first needed. Linking it would map and relocate 45 MB at import: 4 ms and 14 MB resident,
// for every program, convolving or not. So each of its C functions is defined here as a jump through a pointer, and
// load_library() fills the pointers. Adapters use dnnl.hpp as if it were linked.

#include "dnn/library.h"

#include <dlfcn.h>

#include <stdexcept>
#include <string>

#include "dnn/functions.h"

namespace {

// What the pointers lead to before load_library(), and where the library found lacks a function: dnnl_unimplemented,
// which dnnl.hpp turns into an exception.
extern "C" int fl_dnnl_unavailable() { return 3; }

}  // namespace

#if defined(__x86_64__)
#define FL_JUMP(pointer) "  jmp *" pointer "(%rip)\n"
#elif defined(__aarch64__)
#define FL_JUMP(pointer) "  adrp x16, " pointer "\n  ldr x16, [x16, :lo12:" pointer "]\n  br x16\n"
#else
#error "dnn/library.cpp has no jump instruction for this architecture"
#endif

#define FL_DEFINE(name)                                                                                         \
  extern "C" {                                                                                                  \
  __attribute__((used, visibility("hidden"))) void* fl_##name = reinterpret_cast<void*>(&fl_dnnl_unavailable);  \
  }                                                                                                             \
  asm(".pushsection .text\n.p2align 4\n.globl " #name "\n.hidden " #name "\n.type " #name ", %function\n" #name \
      ":\n" FL_JUMP("fl_" #name) ".size " #name ", .-" #name "\n.popsection\n");
FL_DNNL_FUNCTIONS(FL_DEFINE)

namespace fl::dnn {
namespace {

// The copy beside the extension, or the one that its RUNPATH or the system offers. The first is named in full because a
// sanitizer that stands between us and dlopen hides our RUNPATH.
void* open_library() {
  Dl_info extension;
  if (dladdr(reinterpret_cast<const void*>(&load_library), &extension) != 0 && extension.dli_fname != nullptr) {
    const std::string path = extension.dli_fname;
    const std::string bundled = path.substr(0, path.rfind('/') + 1) + "lib/libdnnl.so.3";
    if (void* library = dlopen(bundled.c_str(), RTLD_LAZY | RTLD_LOCAL)) return library;
  }
  return dlopen("libdnnl.so.3", RTLD_LAZY | RTLD_LOCAL);
}

}  // namespace

void load_library() {
  // Not std::call_once: it would need libstdc++ in the static TLS block, which is too late once another module loaded
  // it.
  static const bool loaded = [] {
    void* library = open_library();
    if (!library) throw std::runtime_error(std::string("oneDNN could not be loaded: ") + dlerror());
#define FL_RESOLVE(name) \
  if (void* address = dlsym(library, #name)) fl_##name = address;
    FL_DNNL_FUNCTIONS(FL_RESOLVE)
#undef FL_RESOLVE
    return true;
  }();
  (void)loaded;
}

}  // namespace fl::dnn
