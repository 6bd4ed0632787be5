"""A second implementation of docs/spec, written only from that text. One module for each of its topics."""
