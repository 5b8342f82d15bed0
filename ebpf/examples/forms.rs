//! Loads every form of the program as compiled by this build's compiler: `cargo xtask vm-test --kernel NAME --compilers`
//! runs it in guests.

use std::process::ExitCode;

use weir_ebpf::Form;

fn main() -> ExitCode {
    let mut status = ExitCode::SUCCESS;
    for form in Form::ALL {
        match form.try_load() {
            Ok(()) => println!("{}: loaded", form.name()),
            Err(error) => {
                println!("{}: {error}", form.name());
                status = ExitCode::FAILURE;
            }
        }
    }
    status
}
