// All of the scalar functions, as templates over Vec<T> found by argument-dependent lookup.
#pragma once

#include "basic.h"
#include "bessel.h"
#include "complex.h"
#include "erf.h"
#include "exp_log.h"
#include "gamma.h"
#include "hyperbolic.h"
#include "integer.h"
#include "power.h"
#include "trig.h"
