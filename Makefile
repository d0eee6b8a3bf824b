# The front door.  Every target installs what it needs by itself (tools/setup).
BUILD ?= build
NINJA = ninja -C $(BUILD)

all: $(BUILD)/build.ninja ## build build/det, build/libdet.so and build/pylib
	@$(NINJA) det libdet.so.0.1.0 python-package

$(BUILD)/build.ninja:
	@tools/setup build
	@meson setup $(BUILD) --buildtype=debugoptimized >/dev/null || { cat $(BUILD)/meson-logs/meson-log.txt; exit 1; }

demo: all ## build, start the platform, train the Keras tutorial, search in C, look at the curves
	@tools/setup examples
	@examples/demo $(BUILD)/det

examples: ## pack the examples of the tutorials: build/examples/NAME.tgz
	@tools/pack-examples $(BUILD)/examples

test: ## everything that must pass; prints the time of each suite, and at the end what failed and what was skipped
	@tools/setup test
	@tools/run-tests

bench: all ## figures beside their limits; PEERS=1 also measures MLflow, the official client, torch's and TensorFlow's loaders
	@tools/setup bench
	@tools/bench $(if $(PEERS),--peers)

soak: ## the long tests; KILLS=n processes killed, SEED=n a campaign again, ONLY="campaign proof keras torch styles quiet sim fuzz"
	@tools/setup test
	@tools/soak

pictures: all ## the pictures of the WebUI in docs/pictures, from a real run
	@tools/setup test
	@tools/venv $(BUILD)/venv
	@$(BUILD)/venv/bin/python tools/tour $(BUILD) docs/pictures

fmt: ## clang-format on every C file
	@tools/setup test
	@git ls-files -co --exclude-standard '*.c' '*.h' | grep -v route_list.h | xargs clang-format -i

install: all ## into /usr/local; DESTDIR and PREFIX are honoured
	@meson configure $(BUILD) --prefix=$(or $(PREFIX),/usr/local) >/dev/null
	@$(NINJA) build.ninja >/dev/null # what is installed where is decided there
	@meson install -C $(BUILD) --no-rebuild --only-changed

clean: ## throw the builds away
	rm -rf build build-*

help: ## this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 10

.PHONY: all demo examples test bench soak pictures fmt install clean help
