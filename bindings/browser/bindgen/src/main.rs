//! `bindgen MODULE DIRECTORY`: writes the module for browsers and its JavaScript into a directory. It writes no types,
//! because the package's types are written by hand.

use std::{env, path::PathBuf, process::ExitCode};

use wasm_bindgen_cli_support::Bindgen;

fn main() -> ExitCode {
    let args: Vec<_> = env::args_os().skip(1).map(PathBuf::from).collect();
    let [module, directory] = &args[..] else {
        eprintln!("usage: bindgen MODULE DIRECTORY");
        return ExitCode::FAILURE;
    };
    let mut bindgen = Bindgen::new();
    bindgen.input_path(module).typescript(false).omit_default_module_path(false);
    bindgen.remove_name_section(true).remove_producers_section(true);
    match bindgen.web(true).and_then(|bindgen| bindgen.generate(directory)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bindgen: {}: {error:#}", module.display());
            ExitCode::FAILURE
        }
    }
}
