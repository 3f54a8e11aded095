// All of the scalar functions, as templates over Vec<T> found by argument-dependent lookup.
#pragma once

#include "basic.h"
#include "exp_log.h"
#include "hyperbolic.h"
#include "integer.h"
#include "trig.h"
