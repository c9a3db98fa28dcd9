# hopgap as an image: `docker build -t hopgap .`, then `docker run --rm -p 127.0.0.1:8085:8085 hopgap`.
#
# ./dev image-check runs these very steps in a bare Debian root where there is no container engine, and the program in
# what comes out. It refuses an instruction or an option that it does not know.

FROM debian:bookworm-slim AS build
WORKDIR /source
COPY . .
# The compiler's cache outlives the layer, so a changed line does not mean compiling all of it.
RUN --mount=type=cache,target=/root/.cache/ccache ./dev package

FROM debian:bookworm-slim
# The package brings what it needs and nothing else; it is mounted and not copied, so no layer keeps it.
RUN --mount=type=bind,from=build,source=/source/build/package,target=/package \
    apt-get -qq update && \
    DEBIAN_FRONTEND=noninteractive apt-get -qq -y install --no-install-recommends /package/hopgap_*.deb ca-certificates && \
    rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin /var/cache/debconf/*-old /var/log/apt /var/log/dpkg.log
# Nobody's number: it owns no file. Folders that hopgap writes are volumes.
USER 65532:65532
WORKDIR /tmp
EXPOSE 8085
# hopgap is process 1: it takes SIGTERM itself and ends its own children, so there is no init.
STOPSIGNAL SIGTERM
ENTRYPOINT ["/usr/bin/hopgap"]
# The broker for tests. Beyond loopback, because loopback is the container's own; -p says who may reach it.
CMD ["serve", "--host", "0.0.0.0", "--port", "8085", "--insecure-listen-everywhere"]
# For the broker. An api or a worker is asked by its URL: see compose.yaml.
HEALTHCHECK --interval=5s --timeout=5s --start-period=10s --retries=3 CMD ["/usr/bin/hopgap", "health", "127.0.0.1:8085"]
