#include "dnn/convolution.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/threads.h"
#include "dnn/buffer.h"
#include "dnn/convert.h"
#include "dnn/convolution_plan.h"
#include "dnn/primitive.h"

// How convolutions are shared among threads. oneDNN shares out the gradient of weights, and with a few of its kernels
// also the others, in ways that depend on the number of threads, and so do the last bits. So the batch is cut into
// chunks by shape alone, each convolved by one thread; the weight gradients of the chunks are added in order. Inside,
// activations have their channels last: the caller's other layout is reordered chunk by chunk, while it is in the
// cache.

namespace fl::dnn {
namespace {

const char* advance(const void* data, int64_t elements, DataType type) {
  return static_cast<const char*>(data) + elements * static_cast<int64_t>(size_of(type));
}

char* advance(void* data, int64_t elements, DataType type) {
  return static_cast<char*>(data) + elements * static_cast<int64_t>(size_of(type));
}

double work_per_image(const Convolution& shape) {
  return static_cast<double>(shape.weights_count()) * shape.output_size();
}

int64_t divide_up(double value, double by) { return static_cast<int64_t>(value / by) + 1; }

constexpr double kChunkWork = 1 << 23;  // multiplications: about 0.1 ms

// Images that one thread convolves at a time: enough for the work to be worth sharing and for large weights to be worth
// reading.
int64_t images_per_chunk(const Convolution& shape) {
  constexpr int64_t kFewPixels = 196, kLargeWeights = 1 << 17, kMostChunks = 64;
  int64_t images = divide_up(kChunkWork, work_per_image(shape));
  if (shape.weights_count() > kLargeWeights) {
    images = std::max(images, (kFewPixels + shape.output_size() - 1) / shape.output_size());
  }
  images = std::max(images, (shape.batch + kMostChunks - 1) / kMostChunks);
  return std::min(images, shape.batch);
}

// Calls f(first, chunks, images) for the chunks of full size and, if the batch doesn't divide evenly, for the rest.
template <class F>
void for_each_segment(int64_t batch, int64_t images, F&& f) {
  const int64_t chunks = batch / images;
  f(int64_t{0}, chunks, images);
  if (const int64_t rest = batch - chunks * images; rest > 0) f(chunks * images, int64_t{1}, rest);
}

// ---- forward and data gradient: source side and destination side swap roles ----

struct Sides {
  int64_t from_image, to_image;  // elements of an image
  const void* from;
  void* to;
};

void run_chunk(const ConvolutionPlan& plan, Direction direction, const void* from, const void* weights,
               const void* bias, void* to) {
  const bool forward = direction == Direction::forward;
  const auto& from_layout = forward ? plan.source : plan.destination;
  const auto& to_layout = forward ? plan.destination : plan.source;
  const auto& from_reorder = forward ? plan.source_reorder : plan.destination_reorder;
  const auto& to_reorder = forward ? plan.destination_reorder : plan.source_reorder;
  std::optional<Scratch> from_scratch, to_scratch;
  if (from_reorder) {
    from_scratch.emplace(from_layout.get_size());
    from_reorder->run(from, from_scratch->get());
    from = from_scratch->get();
  }
  void* result = to;
  if (to_reorder) {
    to_scratch.emplace(to_layout.get_size());
    result = to_scratch->get();
  }
  if (forward) {
    plan.primitive.run({{DNNL_ARG_SRC, plan.source, from},
                        {DNNL_ARG_WEIGHTS, plan.weights, weights},
                        {DNNL_ARG_BIAS, plan.bias, bias},
                        {DNNL_ARG_DST, plan.destination, result}});
  } else {
    plan.primitive.run({{DNNL_ARG_DIFF_DST, plan.destination, from},
                        {DNNL_ARG_WEIGHTS, plan.weights, weights},
                        {DNNL_ARG_DIFF_SRC, plan.source, result}});
  }
  if (to_reorder) to_reorder->run(result, to);
}

void convolve(ConvolutionRequest request, const Sides& sides, Input weights, const void* bias, WeightSlot slot) {
  const Convolution shape = request.shape;
  const DataType type = request.type;
  const auto weights_layout = weights_description(shape, type, weights.layout);
  int64_t part = static_cast<int64_t>(request.direction) * 2;
  for_each_segment(shape.batch, images_per_chunk(shape), [&](int64_t first, int64_t chunks, int64_t images) {
    request.shape.batch = images;
    // The threads share a single chunk, if the kernel can do that without changing the result.
    request.shareable = chunks == 1 && work_per_image(shape) * images > kChunkWork;
    std::shared_ptr<const ConvolutionPlan> plan;
    {
      const SerialScope for_one_thread;
      plan = convolution_plan(request);
    }
    std::optional<SerialScope> serial;
    if (chunks == 1) {
      const auto shared = request.shareable ? convolution_plan(request) : nullptr;
      if (shared != nullptr && same_bits(*shared, *plan)) {
        plan = shared;
      } else {
        serial.emplace();
      }
    }
    const PreparedWeights prepared(slot, seen_before(slot, part), part, weights_layout, weights.data, plan->weights);
    ++part;
    parallel_for(0, chunks, 1, [&](int64_t begin, int64_t end) {
      std::optional<SerialScope> in_chunk;
      if (chunks > 1) in_chunk.emplace();
      for (int64_t chunk = begin; chunk < end; ++chunk) {
        const int64_t image = first + chunk * images;
        run_chunk(*plan, request.direction, advance(sides.from, image * sides.from_image, type), prepared.get(), bias,
                  advance(sides.to, image * sides.to_image, type));
      }
    });
  });
}

// ---- weight gradient ----

// Sums of gradients in the primitive's layout, f32: of the weights, and behind them of the bias.
struct Partial {
  Partial(const ConvolutionPlan& plan, bool has_bias)
      : weights(plan.weights.get_size()), bias(has_bias ? plan.bias.get_size() : 0) {}

  void add(const Partial& other) {
    const auto add_to = [](const Scratch& sum, const Scratch& term, size_t bytes) {
      float* target = sum.as<float>();
      const float* source = term.as<float>();
      parallel_for(0, static_cast<int64_t>(bytes / sizeof(float)), 1 << 15, [=](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) target[i] += source[i];
      });
    };
    add_to(weights, other.weights, weights.size());
    add_to(bias, other.bias, bias.size());
  }

  Scratch weights, bias;
};

struct WeightGradient {
  ConvolutionRequest request;
  const void* source;
  const void* gradient;
  Output weights;
  void* bias;  // may be null
};

void run_weights_chunk(const ConvolutionPlan& plan, const void* source, const void* gradient, const Partial& sum) {
  std::optional<Scratch> source_scratch, gradient_scratch;
  if (plan.source_reorder) {
    source_scratch.emplace(plan.source.get_size());
    plan.source_reorder->run(source, source_scratch->get());
    source = source_scratch->get();
  }
  if (plan.destination_reorder) {
    gradient_scratch.emplace(plan.destination.get_size());
    plan.destination_reorder->run(gradient, gradient_scratch->get());
    gradient = gradient_scratch->get();
  }
  plan.primitive.run({{DNNL_ARG_SRC, plan.source, source},
                      {DNNL_ARG_DIFF_WEIGHTS, plan.weights, sum.weights.get()},
                      {DNNL_ARG_DIFF_BIAS, plan.bias, sum.bias.get()},
                      {DNNL_ARG_DIFF_DST, plan.destination, gradient}});
}

void store(const WeightGradient& task, const ConvolutionPlan& plan, const Partial& sum) {
  const Convolution& shape = task.request.shape;
  Reorder(plan.weights, weights_description(shape, task.request.type, task.weights.layout))
      .run(sum.weights.get(), task.weights.data);
  if (task.bias != nullptr) from_float(task.request.type, shape.out_channels, sum.bias.as<float>(), task.bias);
}

// Chunks of the batch, each with its own sums, which are then added in order.
void sum_over_chunks(const WeightGradient& task, int64_t images) {
  ConvolutionRequest request = task.request;
  const Convolution& shape = task.request.shape;
  const int64_t source_image = shape.in_channels * shape.input_size();
  const int64_t all_channels = request.destination_channels == 0 ? shape.out_channels : request.destination_channels;
  const int64_t gradient_image = all_channels * shape.output_size();
  const bool has_bias = task.bias != nullptr;

  std::optional<Partial> total;
  std::shared_ptr<const ConvolutionPlan> total_plan;
  for_each_segment(shape.batch, images, [&](int64_t first, int64_t chunks, int64_t count) {
    request.shape.batch = count;
    std::shared_ptr<const ConvolutionPlan> plan;
    {
      const SerialScope for_one_thread;
      plan = convolution_plan(request);
    }
    std::vector<Partial> sums;
    for (int64_t chunk = 0; chunk < chunks; ++chunk) sums.emplace_back(*plan, has_bias);
    parallel_for(0, chunks, 1, [&](int64_t begin, int64_t end) {
      const SerialScope in_chunk;
      for (int64_t chunk = begin; chunk < end; ++chunk) {
        const int64_t image = first + chunk * count;
        run_weights_chunk(*plan, advance(task.source, image * source_image, request.type),
                          advance(task.gradient, image * gradient_image, request.type), sums[chunk]);
      }
    });
    for (int64_t chunk = 1; chunk < chunks; ++chunk) sums[0].add(sums[chunk]);
    if (!total) {
      total.emplace(std::move(sums[0]));
      total_plan = plan;
      return;
    }
    // The rest's primitive may have chosen another layout for the weights.
    if (plan->weights == total_plan->weights) return total->add(sums[0]);
    Partial same_layout(*total_plan, has_bias);
    Reorder(plan->weights, total_plan->weights).run(sums[0].weights.get(), same_layout.weights.get());
    same_layout.bias.swap(sums[0].bias);
    total->add(same_layout);
  });
  store(task, *total_plan, *total);
}

// Slices of the output channels: where the weights are large, and adding up chunks would take longer than computing
// them.
void sum_by_slices(WeightGradient task) {
  constexpr int64_t kFewChannels = 32, kMostSlices = 8;
  const Convolution shape = task.request.shape;
  const DataType type = task.request.type;
  const double work = work_per_image(shape) * shape.batch;
  const int64_t slices = std::clamp<int64_t>(
      std::min<int64_t>(shape.out_channels / kFewChannels, static_cast<int64_t>(work / kChunkWork)), 1, kMostSlices);
  const int64_t channels = ((shape.out_channels + slices - 1) / slices + 15) / 16 * 16;
  const int64_t pixels = task.request.destination == Layout::contiguous ? shape.output_size() : 1;

  // All slices read the whole source: it is reordered once.
  std::optional<Scratch> source;
  if (task.request.source == Layout::contiguous && slices > 1) {
    const int64_t count = shape.batch * shape.in_channels * shape.input_size();
    source.emplace(static_cast<size_t>(count) * size_of(type));
    reorder_to_channels_last(shape, type, task.source, source->get());
    task.source = source->get();
    task.request.source = Layout::channels_last;
  }
  parallel_for(0, (shape.out_channels + channels - 1) / channels, 1, [&](int64_t begin, int64_t end) {
    for (int64_t slice = begin; slice < end; ++slice) {
      const int64_t first = slice * channels;
      WeightGradient part = task;
      part.request.destination_channels = shape.out_channels;
      part.request.shape.out_channels = std::min(channels, shape.out_channels - first);
      part.gradient = advance(task.gradient, first * pixels, type);
      part.weights.data = advance(task.weights.data, first * (shape.weights_count() / shape.out_channels), type);
      part.bias = task.bias == nullptr ? nullptr : advance(task.bias, first, type);
      sum_over_chunks(part, shape.batch);
    }
  });
}

void weight_gradient(const WeightGradient& task) {
  constexpr int64_t kMostChunks = 16, kWeightsShare = 4, kManyChannels = 64;
  const Convolution& shape = task.request.shape;
  const int64_t per_image = shape.in_channels * shape.input_size() + shape.out_channels * shape.output_size();
  // Adding up the chunks should take a small part of reading the images.
  const int64_t images =
      std::max({divide_up(kChunkWork, work_per_image(shape)), kWeightsShare * shape.weights_count() / per_image + 1,
                (shape.batch + kMostChunks - 1) / kMostChunks});
  if (images * 2 <= shape.batch) return sum_over_chunks(task, images);
  const bool large = work_per_image(shape) * shape.batch >= 2 * kChunkWork;
  if (large && shape.groups == 1 && shape.out_channels >= kManyChannels) return sum_by_slices(task);
  sum_over_chunks(task, shape.batch);
}

// ---- types the processor doesn't multiply are computed in f32 ----

Scratch widened(DataType type, int64_t count, const void* data) {
  Scratch wide(static_cast<size_t>(count) * sizeof(float));
  if (data != nullptr) to_float(type, count, data, wide.as<float>());
  return wide;
}

// oneDNN 3.2 gives wrong bf16 weight gradients for many dilated kernels, and for some that are larger than the image
// without its padding.
bool has_wrong_kernel(const Convolution& shape, DataType type) {
  for (int i = 0; i < shape.dims; ++i) {
    if (type == DataType::bf16 && (shape.dilation[i] > 1 || shape.kernel[i] > shape.input[i])) return true;
  }
  return false;
}

int64_t source_count(const Convolution& shape) { return shape.batch * shape.in_channels * shape.input_size(); }
int64_t destination_count(const Convolution& shape) { return shape.batch * shape.out_channels * shape.output_size(); }

}  // namespace

void convolution(const Convolution& shape, DataType type, Input source, Input weights, const void* bias,
                 Output destination, WeightSlot slot) {
  if (shape.batch == 0) return;
  if (!is_native(type)) {
    const Scratch wide_source = widened(type, source_count(shape), source.data);
    const Scratch wide_weights = widened(type, shape.weights_count(), weights.data);
    const Scratch wide_bias = widened(type, shape.out_channels, bias);
    const Scratch result(static_cast<size_t>(destination_count(shape)) * sizeof(float));
    convolution(shape, DataType::f32, {wide_source.get(), source.layout}, {wide_weights.get(), weights.layout},
                bias == nullptr ? nullptr : wide_bias.get(), {result.get(), destination.layout});
    return from_float(type, destination_count(shape), result.as<float>(), destination.data);
  }
  const ConvolutionRequest request{shape, type, Direction::forward, source.layout, destination.layout, bias != nullptr};
  convolve(
      request,
      {shape.in_channels * shape.input_size(), shape.out_channels * shape.output_size(), source.data, destination.data},
      weights, bias, slot);
}

void convolution_backward_data(const Convolution& shape, DataType type, Input gradient, Input weights,
                               Output source_gradient, WeightSlot slot) {
  if (shape.batch == 0) return;
  if (!is_native(type)) {
    const Scratch wide_gradient = widened(type, destination_count(shape), gradient.data);
    const Scratch wide_weights = widened(type, shape.weights_count(), weights.data);
    const Scratch result(static_cast<size_t>(source_count(shape)) * sizeof(float));
    convolution_backward_data(shape, DataType::f32, {wide_gradient.get(), gradient.layout},
                              {wide_weights.get(), weights.layout}, {result.get(), source_gradient.layout});
    return from_float(type, source_count(shape), result.as<float>(), source_gradient.data);
  }
  const ConvolutionRequest request{shape, type, Direction::backward_data, source_gradient.layout, gradient.layout};
  convolve(request,
           {shape.out_channels * shape.output_size(), shape.in_channels * shape.input_size(), gradient.data,
            source_gradient.data},
           weights, nullptr, slot);
}

void convolution_backward_weights(const Convolution& shape, DataType type, Input source, Input gradient,
                                  Output weights_gradient, void* bias_gradient) {
  if (shape.batch == 0) {
    std::memset(weights_gradient.data, 0, static_cast<size_t>(shape.weights_count()) * size_of(type));
    if (bias_gradient != nullptr) {
      std::memset(bias_gradient, 0, static_cast<size_t>(shape.out_channels) * size_of(type));
    }
    return;
  }
  if (!is_native(type) || has_wrong_kernel(shape, type)) {
    const Scratch wide_source = widened(type, source_count(shape), source.data);
    const Scratch wide_gradient = widened(type, destination_count(shape), gradient.data);
    const Scratch weights(static_cast<size_t>(shape.weights_count()) * sizeof(float));
    const Scratch bias(static_cast<size_t>(shape.out_channels) * sizeof(float));
    convolution_backward_weights(shape, DataType::f32, {wide_source.get(), source.layout},
                                 {wide_gradient.get(), gradient.layout}, {weights.get(), weights_gradient.layout},
                                 bias_gradient == nullptr ? nullptr : bias.get());
    from_float(type, shape.weights_count(), weights.as<float>(), weights_gradient.data);
    if (bias_gradient != nullptr) from_float(type, shape.out_channels, bias.as<float>(), bias_gradient);
    return;
  }
  const ConvolutionRequest request{
      shape, type, Direction::backward_weights, source.layout, gradient.layout, bias_gradient != nullptr};
  weight_gradient({request, source.data, gradient.data, weights_gradient, bias_gradient});
}

}  // namespace fl::dnn
