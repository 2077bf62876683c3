//! Link options of the driver.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        // The loader closes a driver with its last instance, but the compiler inside leaves things behind that run
        // when a thread or the process ends.
        println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
