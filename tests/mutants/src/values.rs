//! Values that replace a function's body, by its return type, as in cargo-mutants.

use syn::{GenericArgument, PathArguments, ReturnType, Type};

/// Maximum number of values of one type.
const MAX: usize = 4;

pub fn of(output: &ReturnType) -> Vec<String> {
    let mut values = match output {
        ReturnType::Default => vec!["()".to_owned()],
        ReturnType::Type(_, returned) => of_type(returned),
    };
    values.truncate(MAX);
    values
}

fn of_type(returned: &Type) -> Vec<String> {
    let texts = |values: &[&str]| {
        values
            .iter()
            .map(|value| (*value).to_owned())
            .collect::<Vec<_>>()
    };
    match returned {
        Type::Paren(inner) => of_type(&inner.elem),
        Type::Tuple(tuple) if tuple.elems.is_empty() => texts(&["()"]),
        Type::Tuple(tuple) => {
            let mut tuples = vec![String::new()];
            for element in &tuple.elems {
                let values = of_type(element);
                let longer = |start: &String| {
                    values
                        .iter()
                        .map(|value| format!("{start}{value}, "))
                        .collect::<Vec<_>>()
                };
                tuples = tuples.iter().flat_map(longer).collect();
            }
            tuples
                .into_iter()
                .map(|elements| format!("({elements})"))
                .collect()
        }
        Type::Array(array) => {
            let length = quote::ToTokens::to_token_stream(&array.len);
            each(&array.elem, |value| format!("[{value}; {length}]"))
        }
        Type::Reference(reference) => match (&*reference.elem, reference.mutability) {
            (Type::Path(path), None) if path.path.is_ident("str") => texts(&["\"\"", "\"xyzzy\""]),
            (Type::Slice(slice), None) => {
                let mut values = texts(&["&[]"]);
                values.extend(each(&slice.elem, |value| {
                    format!("Vec::leak(vec![{value}])")
                }));
                values
            }
            (Type::Slice(slice), Some(_)) => {
                each(&slice.elem, |value| format!("Vec::leak(vec![{value}])"))
            }
            (inner, None) => each(inner, |value| format!("&*Box::leak(Box::new({value}))")),
            (inner, Some(_)) => each(inner, |value| format!("Box::leak(Box::new({value}))")),
        },
        // A function has one opaque type, that of its own body.
        Type::Never(_) | Type::ImplTrait(_) => Vec::new(),
        Type::Path(path) => of_path(path),
        _ => texts(&["Default::default()"]),
    }
}

fn of_path(path: &syn::TypePath) -> Vec<String> {
    let texts = |values: &[&str]| {
        values
            .iter()
            .map(|value| (*value).to_owned())
            .collect::<Vec<_>>()
    };
    let Some(last) = path.path.segments.last() else {
        return Vec::new();
    };
    let first = first_type(&last.arguments);
    match (last.ident.to_string().as_str(), first) {
        ("bool", _) => texts(&["true", "false"]),
        ("u8" | "u16" | "u32" | "u64" | "u128" | "usize", _) => texts(&["0", "1"]),
        ("i8" | "i16" | "i32" | "i64" | "i128" | "isize", _) => texts(&["0", "1", "-1"]),
        ("f32" | "f64", _) => texts(&["0.0", "1.0", "-1.0"]),
        ("String", _) => texts(&["String::new()", "\"xyzzy\".into()"]),
        ("Option", Some(inner)) => {
            let mut values = texts(&["None"]);
            values.extend(each(inner, |value| format!("Some({value})")));
            values
        }
        ("Result", Some(inner)) => each(inner, |value| format!("Ok({value})")),
        ("Result", None) => texts(&["Ok(Default::default())"]),
        ("Vec", Some(inner)) => {
            let mut values = texts(&["vec![]"]);
            values.extend(each(inner, |value| format!("vec![{value}]")));
            values
        }
        ("Box" | "Rc" | "Arc", Some(inner)) => {
            each(inner, |value| format!("{}::new({value})", last.ident))
        }
        _ => texts(&["Default::default()"]),
    }
}

fn each(inner: &Type, form: impl Fn(&str) -> String) -> Vec<String> {
    of_type(inner).iter().map(|value| form(value)).collect()
}

fn first_type(arguments: &PathArguments) -> Option<&Type> {
    let PathArguments::AngleBracketed(arguments) = arguments else {
        return None;
    };
    arguments.args.iter().find_map(|argument| match argument {
        GenericArgument::Type(inner) => Some(inner),
        _ => None,
    })
}
