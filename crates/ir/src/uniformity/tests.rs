//! Cases in text form.
