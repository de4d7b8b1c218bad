//! The `sleek` command.

fn main() {}
