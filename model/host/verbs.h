// The verbs: what a program needs to move data once its device is open.
#pragma once

#include "host/completion_queue.h"
#include "host/event_queue.h"
#include "host/queue_pair.h"
#include "host/shared_receive_queue.h"
