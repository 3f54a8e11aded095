#pragma once

namespace fl::dnn {

// Opens oneDNN, once per process; cheap afterwards. Every adapter calls it before its first call into dnnl.hpp
// (creating the engine is the natural place). Throws std::runtime_error, with the loader's reason, if there is none.
void load_library();

}  // namespace fl::dnn
