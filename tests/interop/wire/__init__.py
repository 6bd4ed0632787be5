"""A second implementation of docs/spec, written from that text alone. One module for each of its topics."""
