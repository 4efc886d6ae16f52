//! The numeric core of Salon.
